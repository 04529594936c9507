"""Checks evidence bundles with the verifier key of their ledger, which must come from somewhere other than the bundles."""
import argparse, base64, functools, hashlib, json, pathlib, re, signal, struct, sys
class Broken(Exception): "The bundle is not what was written."
class NotChecked(Exception): "It is no bundle, did not come as it was written, or is not of the key: none of it proves a forgery."
def need(is_so, problem, error=Broken):
    if not is_so: raise error(problem)
def parse(text):  # Python itself refuses long numbers and deep nesting, each version others.
    brackets, deep = re.sub(r'"[^"]*"|[^][{}"]+', '', re.sub(r'\\.', '', text := text.decode())), 0
    for it in brackets: need((deep := deep + (1 if it in '[{' else -1)) <= 1400, 'a value is nested more than 1,400 levels deep')
    return json.loads(text, parse_constant=int, parse_int=float)
def there(path): return need(path.is_file(), f'there is no {path.name}: this is not a whole bundle') or path
def look(folder):  # Mistakes are no forgeries.
    need(folder.exists(), 'there is no such folder', NotChecked)
    need(folder.is_dir(), 'this is a file: unpack it, and name the folder that was in it', NotChecked)
    if not (folder / 'bundle.json').is_file():
        hint = 'name one of the folders in it' if any((it / 'bundle.json').is_file() for it in folder.iterdir()) else 'this is no bundle'
        raise NotChecked(f'there is no bundle.json: {hint}')
    for path in (folder / name for name in FILES if (folder / name).is_file()):
        with open(path, 'rb') as file: line, end, _ = file.read(2**16).partition(b'\n')
        need(not (end and line.endswith(b'\r')), f'{path.name} has lines that end in CR LF: get the bundle as it was written', NotChecked)
def sha256(text): return hashlib.sha256(text).digest()
def of(kind, value): return {kind: value}[type(value)]  # A value of another kind than in a bundle is a LookupError.
def inner(value, name, missing): return missing if of(dict, value).get(name) is None else value[name]
def number(value): return {True: int}[type(value) in (int, float) and 0 <= value < 2**53 and value % 1 == 0](value)
TIME = r'[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z'
FILES = 'events.txt parts.txt requests.jsonl checkpoint.txt keys.json bundle.json'.split()
P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493  # Ed25519 (RFC 8032, 5.1)
D, ROOT = -121665 * pow(121666, -1, P) % P, pow(2, (P - 1) // 4, P)
def add(p, q):
    a, b, c, d = p[0] * q[1], q[0] * p[1], p[1] * q[1], p[0] * q[0]
    return (a + b) * pow(1 + D * a * b, -1, P) % P, (c + d) * pow(1 - D * a * b, -1, P) % P
def times(n, p): return add(times(n // 2, add(p, p)), p if n % 2 else (0, 1)) if n else (0, 1)
def point(code):
    y, sign = int.from_bytes(code, 'little') % 2**255, code[31] >> 7
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    roots = (x for one in (1, -1, ROOT, -ROOT) if (x := one * pow(square, (P + 3) // 8, P) % P) * x % P == square)
    return next(((x, y) for x in roots if x % 2 == sign and y < P), None)
@functools.lru_cache(1000)
def is_signed(key, text, signature):
    if len(key) != 32 or len(signature) != 64: return False
    a, r, s = point(key), point(signature[:32]), int.from_bytes(signature[32:], 'little')
    h = int.from_bytes(hashlib.sha512(signature[:32] + key + text).digest(), 'little') % L
    return bool(a and r and s < L) and times(8, a) != (0, 1) and times(s, point(b'\x58' + 31 * b'\x66')) == add(r, times(h, a))
def root_of(leaf, index, size, proof):  # RFC 9162, 2.1: what the hashes of a proof make of that of a leaf
    if size < 2 or not proof: return leaf if (index, size) == (0, 1) and not proof else b''
    *deeper, beside = proof
    left = 1 << (size - 1).bit_length() - 1
    if index < left: return sha256(b'\1' + root_of(leaf, index, left, deeper) + beside)
    return sha256(b'\1' + beside + root_of(leaf, index - left, size - left, deeper))
# The end of SHA-256 (FIPS 180-4, 6.2.2): of a withheld event the bundle has the state before its last bytes, and these
K = [int(n ** (1 / 3) % 1 * 2**32) for n in range(2, 312) if all(n % d for d in range(2, n))]
def turn(x, *by): return functools.reduce(int.__xor__, (x >> n | x << 32 - n & 0xffffffff for n in by))
def finished(state, rest, length):
    text, now = rest + b'\x80' + bytes((55 - length) % 64) + (8 * length).to_bytes(8, 'big'), struct.unpack('>8I', state)
    for start in range(0, len(text), 64):
        w = list(struct.unpack_from('>16I', text, start))
        while len(w) < 64: w.append((w[-16] + (turn(w[-15], 7, 18) ^ w[-15] >> 3) + w[-7] + (turn(w[-2], 17, 19) ^ w[-2] >> 10)) % 2**32)
        a, b, c, d, e, f, g, h = now
        for k, word in zip(K, w):
            t, u = h + turn(e, 6, 11, 25) + (e & f ^ ~e & g) + k + word, turn(a, 2, 13, 22) + (a & b ^ a & c ^ b & c)
            a, b, c, d, e, f, g, h = (t + u) % 2**32, a, b, c, (d + t) % 2**32, e, f, g
        now = [(x + y) % 2**32 for x, y in zip(now, (a, b, c, d, e, f, g, h))]
    return struct.pack('>8I', *now)
def withheld(lines):
    state, length, rest, stated = re.fullmatch(r'([0-9a-f]{64}) ([0-9]{1,15})\n((?:[0-9a-f]{2}){1,138})\n([0-9a-f]{64})\n', lines).groups()
    rest, prev = bytes.fromhex(rest), re.search(rb'[,{]"prev":(?:null|"([0-9a-f]{64})")}\Z', bytes.fromhex(rest))[1]
    is_so = (int(length) - len(rest)) % 64 == 0 and finished(bytes.fromhex(state), rest, int(length)).hex() == stated
    need(is_so, 'what is here of a withheld event does not have the hash that is given')
    return stated, prev and prev.decode()
def receipts_in(type, data):  # Digests of the requests that an event is the answer to
    if type not in (b'MessageAppended', b'Condensed') or b'"digest"' not in data: return []
    receipt = inner(inner(parse(data), 'origin', {}), 'context', {})
    parts = inner(inner(receipt, 'options', {}), 'parts', []) if type == b'Condensed' else []
    return [it for one in [*(inner(part, 'sent', {}) for part in of(list, parts)), receipt] if of(str, it := inner(one, 'digest', ''))]
def opened(four):
    metadata = parse(four[3])
    time = metadata.get('time') if re.fullmatch(TIME, str(metadata.get('time'))) else None
    return sha256(b''.join(four)[:-1]).hex(), metadata['prev'], time
def check_chain(folder, manifest):
    count, first, prev, sealed, left_out, receipts, times = 0, 0, None, None, [], {}, []
    with open(there(folder / 'events.txt'), 'rb') as file:
        while four := [line for line in (file.readline() for _ in range(4)) if line]:
            need(len(four) == 4 and four[3].endswith(b'\n'), 'events.txt ends in the middle of an event')
            id, type, data, metadata = (line[:-1] for line in four)
            found, before, time = opened(four) if id else (*withheld(b''.join(four[1:]).decode()), None)
            need(before == prev, f'event {count} was not written after the one before it: changed, missing or added')
            if not id: left_out.append(count)
            elif type == b'Forked':
                at, first, sealed = parse(data)['from'], count, None
                need(count and (number(at['position']), at['hash']) == (count - 1, prev), f'event {count} was forked from something else')
            elif digests := receipts_in(type, data): receipts[count] = digests
            if inner(manifest, 'ledger', {}).get('revision') == count - first: sealed = found
            count, prev, times = count + 1, found, [*times[:1], time] if time else times
    for name, fact in {'first': first, 'last': count - 1, 'head': prev, 'withheld': left_out}.items():
        need(manifest[name] == fact, f'bundle.json says something else than events.txt: {name}')
    return sealed, receipts, times
def lines_of(path):
    *lines, rest = there(path).read_bytes().split(b'\n')
    need(rest == b'', f'{path.name} ends in the middle of a line')
    return lines
def check_requests(folder, manifest, receipts):
    parts, used, shown, digests, numbers = lines_of(folder / 'parts.txt'), set(), set(), set(), []
    for request in map(parse, lines_of(folder / 'requests.jsonl')):
        position, numbers = number(request['position']), numbers[:number(request['keep'])] + [*map(number, of(list, request['add']))]
        digest = sha256(b''.join(parts[i] for i in numbers)).hex()
        need(digest in receipts.get(position, []), f'a request is not what the receipt in event {position} says was sent')
        need((position, digest) not in shown, f'the request of the receipt in event {position} is here twice')
        used.update(numbers), shown.add((position, digest)), digests.add(digest)
    need(used == set(range(len(parts))), 'parts.txt has parts that are in no request')
    need(manifest['requests'] == len(shown), 'bundle.json says something else than requests.jsonl: requests')
    return [position for position in receipts if not digests.issuperset(receipts[position])]
def decoded(text): return {base64.b64encode(code := base64.b64decode(text)).decode(): code}[text]  # There is one spelling of a code.
def key_from(text):
    name, id, code = re.fullmatch(r'([^\s+\0-\x1f\x7f-\x9f]{1,200})\+([0-9a-f]{8})\+(A[Q-Za-f][A-Za-z0-9+/]{42})', text).groups()
    return {sha256(f'{name}\n'.encode() + decoded(code)).hex()[:8]: (name, bytes.fromhex(id), decoded(code)[1:], text)}[id]
def check_note(checkpoint, key):  # The key has signed it (C2SP signed-note, tlog-checkpoint): size and root of the tree.
    top, (name, id, public, _) = r'(?s:(?!.*[\0-\t\v-\x1f\x7f-\x9f]))(.+)\n(0|[1-9][0-9]{0,14})\n(.{43}=)\n(?:.+\n)*', key
    text, origin, size, root, marks = re.fullmatch(rf'({top})\n((?:\u2014 [^\s+]{{1,200}} .{{6}}[^=\n].*\n){{1,100}})', checkpoint).groups()
    root, marks = decoded(root), [(signer, decoded(mark)) for _, signer, mark in (line.split(' ') for line in marks[:-1].split('\n'))]
    own = [is_signed(public, text.encode(), mark[4:]) for signer, mark in marks if (signer, mark[:4]) == (name, id)]
    need(own, f'the checkpoint is not of {name} and its key {id.hex()}: the key is of another ledger, or of another time', NotChecked)
    need(origin == name and all(own), 'the checkpoint of the ledger is not signed by the key that was given')
    return int(size), root
def check_leaf(leaf, tree, place):
    found = root_of(sha256(b'\0' + leaf.encode()), number(place['index']), tree[0], [*map(decoded, of(list, place['proof']))])
    need(found == tree[1], 'the signed ledger does not hold this conversation as it is here')
def check_ledger(folder, manifest, sealed, key):
    if inner(manifest, 'ledger', None) is None: return 'there is no ledger: whoever can write to the store could have made all of this'
    if not key: return 'no key was given: whoever can write to the store could have made all of this'
    for one in of(list, parse(there(folder / 'keys.json').read_bytes())['rotations']):
        try: check_leaf('key\n' + one['key'] + '\n', check_note(one['checkpoint'], key), one)
        except (Broken, NotChecked): continue  # It is of keys before the one that was given.
        key = key_from(one['key'])
    tree = check_note(there(folder / 'checkpoint.txt').read_bytes().decode(), key)
    need(sealed, 'the event that the ledger names is not here')
    place = manifest['ledger']
    check_leaf(f'{manifest["conversation"]}\n{place["revision"]}\n{sealed}\n', tree, place)
    print(f'  sealed in the ledger {key[0]}, in a checkpoint of {tree[0]} entries that is signed with {key[3]}')
    newer = manifest['last'] - manifest['first'] - place['revision']
    return newer and f'the last {newer} events are newer than what the ledger holds'
def check(folder, key):
    look(folder)
    manifest = parse(there(folder / 'bundle.json').read_bytes())
    version = re.fullmatch(r'palimpsest evidence ([1-9][0-9]{0,8})', str(manifest['format']))
    need(version, 'bundle.json names a format that is not known here')
    need(int(version[1]) == 1, f'this is {version[0]}: take a newer verify.py', NotChecked)
    need(re.fullmatch(r'(?!\.\.?$)[A-Za-z0-9._:-]{1,200}', manifest['conversation']), 'bundle.json names what cannot be a conversation')
    places = {('first', 'last', 'requests'): manifest, ('revision', 'index'): inner(manifest, 'ledger', {'revision': 0, 'index': 0})}
    for names, place in places.items(): place.update({name: number(place[name]) for name in names})
    manifest['withheld'] = [*map(number, of(list, manifest['withheld']))]
    sealed, receipts, times = check_chain(folder, manifest)
    print(f'  {manifest["last"] + 1} events of {manifest["conversation"]}, each written after the one before it')
    if times: print(f'  recorded from {times[0]} to {times[-1]}')
    missing = check_requests(folder, manifest, receipts)
    print(f'  {manifest["requests"]} requests, each what its receipt says was sent')
    if manifest['withheld']: print(f'  left out: the events {manifest["withheld"]}')
    if missing: print(f'  left out: the requests that the receipts in the events {missing} are of')
    doubt, partly = check_ledger(folder, manifest, sealed, key), missing or manifest['withheld']
    return (4, f'NOT PROVEN: {doubt}') if doubt else (3, 'PROVEN, APART FROM WHAT IS LEFT OUT') if partly else (0, 'PROVEN')
if __name__ == '__main__':
    if hasattr(signal, 'SIGPIPE'): signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.setrecursionlimit(5000), sys.stdout.reconfigure(errors='backslashreplace')
    codes, epilog = set(), 'Exit code: 0 or 3 proven, 4 not proven, 2 not checked, 1 broken'
    parser = argparse.ArgumentParser(description=__doc__, epilog=epilog)
    parser.add_argument('bundles', nargs='+', type=pathlib.Path)
    parser.add_argument('--key', help='verifier key of the ledger, or a file with it')
    bundles, key = vars(parser.parse_args()).values()
    try: key = None if key is None else key_from((pathlib.Path(key).read_text('utf-8-sig') if pathlib.Path(key).is_file() else key).strip())
    except Exception: parser.error('KEY must be a verifier key, such as example.com/log+1a2b3c4d+AZ..., or a file with one')
    for bundle in bundles:
        print(bundle)
        try: code, verdict = check(bundle, key)
        except Broken as problem: code, verdict = 1, f'BROKEN: {problem}'
        except NotChecked as problem: code, verdict = 2, f'NOT CHECKED: {problem}'
        except OSError: code, verdict = 2, 'NOT CHECKED: a file cannot be read'
        except Exception: code, verdict = 1, 'BROKEN: what comes next is missing, or not in the form of a bundle'
        codes.add(code), print(f'  {verdict}', flush=True)
    sys.exit(next(code for code in (1, 2, 4, 3, 0) if code in codes))
