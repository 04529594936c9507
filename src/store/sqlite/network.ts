import { readFileSync, realpathSync } from 'node:fs'

/** A file system that other machines may also write to. */
export interface NetworkMount {
  /** Type of the file system as named by the kernel: `nfs4`, `cifs`, `fuse.sshfs`, … */
  readonly type: string
  /** Source of the mount, for example `server:/export`. */
  readonly source: string
}

/** Types of network file systems, as in /proc/self/mountinfo; the last ones are shares between a virtual machine and its host. */
const network =
  /^(?:nfs\d?|cifs|smb[23]?|smbfs|ncpfs|afs|ceph|glusterfs|lustre|gpfs|beegfs|davfs|fuse\.(?:sshfs|rclone|s3fs|goofys|gcsfuse|blobfuse2?|glusterfs|ceph|davfs2?|juicefs|curlftpfs|smbnetfs|lizardfs|moosefs|mfs\w*|afpfs|nfs\w*|grpcfuse|osxfs|vmhgfs-fuse)|9p|virtiofs|vboxsf|prl_fs)$/

/**
 * Returns the network file system that contains a file or folder; undefined if the file system is local, or if the operating system
 * gives no information (only Linux does).
 */
export const networkMount = (path: string): NetworkMount | undefined => {
  try {
    return networkIn(readFileSync('/proc/self/mountinfo', 'utf8'), realpathSync(path))
  } catch {
    return undefined
  }
}

/**
 * Finds the network file system that contains a path. The mount with the longest mount point decides; among several mounts at the same
 * place, the last.
 *
 * @param mounts in the format of proc_pid_mountinfo(5)
 */
export const networkIn = (mounts: string, path: string): NetworkMount | undefined => {
  let place = ''
  let found: NetworkMount | undefined
  for (const line of mounts.split('\n')) {
    const [own = '', others] = line.split(' - ')
    const at = own.split(' ')[4]
    const [type, source] = others?.split(' ') ?? []
    if (at === undefined || type === undefined || source === undefined) continue
    const mounted = plain(at)
    const holds = path === mounted || path.startsWith(mounted.endsWith('/') ? mounted : `${mounted}/`)
    if (!holds || mounted.length < place.length) continue
    place = mounted
    found = network.test(type) ? { type, source: plain(source) } : undefined
  }
  return found
}

/** Decodes a mount point, in which spaces and similar characters are written as octal numbers. */
const plain = (name: string): string =>
  name.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
