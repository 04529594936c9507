import { readFileSync, realpathSync } from 'node:fs'

/** A file system that other machines may write to as well. */
export interface NetworkMount {
  /** The kernel's name for its type: `nfs4`, `cifs`, `fuse.sshfs`, … */
  readonly type: string
  /** What is mounted: `server:/export`. */
  readonly source: string
}

/** Types as /proc/self/mountinfo has them; the last ones are shares of a virtual machine with its host. */
const network =
  /^(?:nfs\d?|cifs|smb[23]?|smbfs|ncpfs|afs|ceph|glusterfs|lustre|gpfs|beegfs|davfs|fuse\.(?:sshfs|rclone|s3fs|goofys|gcsfuse|blobfuse2?|glusterfs|ceph|davfs2?|juicefs|curlftpfs|smbnetfs|lizardfs|moosefs|mfs\w*|afpfs|nfs\w*|grpcfuse|osxfs|vmhgfs-fuse)|9p|virtiofs|vboxsf|prl_fs)$/

/** The network file system that a file or folder is on; undefined if it is on none, or where the system does not tell (only Linux does). */
export const networkMount = (path: string): NetworkMount | undefined => {
  try {
    return networkIn(readFileSync('/proc/self/mountinfo', 'utf8'), realpathSync(path))
  } catch {
    return undefined
  }
}

/**
 * Looks a path up in the mounts of a process. The one with the longest name counts, and of several at one place the last.
 *
 * @param mounts as proc_pid_mountinfo(5) describes
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

/** Spaces and the like are written as octal numbers. */
const plain = (name: string): string =>
  name.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
