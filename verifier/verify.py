"""Checks evidence bundles with the verifier key of their ledger, which must come from somewhere other than the bundles."""
import argparse, base64, functools, hashlib, json, pathlib, re, signal, struct, sys
class Broken(Exception): "The bundle is not what was written."
class NotChecked(Exception): "It is no bundle, did not come as it was written, or is not of the key: none of it proves a forgery."
def need(is_so, problem, error=Broken):
    if not is_so: raise error(problem)
def parse(text):  # Python itself refuses long numbers and deep nesting, each version others.
    brackets, deep = re.sub(r'"[^"]*"|[^][{}"]+', '', re.sub(r'\\.', '', text := text.decode())), 0
    for it in brackets: need((deep := deep + (1 if it in '[{' else -1)) <= 1400, 'a value is nested more than 1,400 levels deep')
    try: return json.loads(text, parse_constant=int, parse_int=lambda it: int(it) if len(it) < 16 else float(it))
    except ValueError: raise Broken(f'{NOW["file"]} contains invalid JSON: get another copy of the bundle')
def there(path): return NOW.update(file=path.name) or need(path.is_file(), f'there is no {path.name}: the bundle is incomplete') or path
def look(folder):  # Mistakes are no forgeries.
    need(folder.exists(), 'there is no such folder', NotChecked)
    need(folder.is_dir(), 'this is a file: unpack it, and specify the folder inside it', NotChecked)
    if not (folder / 'bundle.json').is_file():
        part, one = (folder / 'events.txt').is_file(), any((it / 'bundle.json').is_file() for it in folder.iterdir())
        hint = 'the bundle is incomplete, get another copy' if part else 'name one of the folders in it' if one else 'this is not a bundle'
        raise NotChecked(f'there is no bundle.json: {hint}')
    for path in (folder / name for name in FILES if (folder / name).is_file()):
        with open(there(path), 'rb') as file: line, end, _ = file.read(2**16).partition(b'\n')
        need(not (end and line.endswith(b'\r')), f'{path.name} has lines that end in CR LF: get an unmodified copy', NotChecked)
def sha256(text): return hashlib.sha256(text).digest()
def of(kind, value): return {kind: value}[type(value)]  # A value of another kind than in a bundle is a LookupError.
def inner(value, name, missing): return missing if of(dict, value).get(name) is None else value[name]
def number(value): return {True: int}[type(value) in (int, float) and 0 <= value < 2**53 and value % 1 == 0](value)
ID = r'(?!\.\.?$)[A-Za-z0-9._:-]{1,200}'
FILES, NOW = 'events.txt turns.txt parts.txt requests.jsonl entries.jsonl checkpoint.txt keys.json bundle.json'.split(), {}  # NOW: its file
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
    need(is_so, 'the remaining data of a withheld event does not match its stated hash')
    return stated, prev and prev.decode()
def receipts_in(type, data):  # Digests of the requests that an event is the answer to
    if type not in (b'MessageAppended', b'Condensed') or b'"digest"' not in data: return []
    receipt = inner(inner(parse(data), 'origin', {}), 'context', {})
    parts = inner(inner(receipt, 'options', {}), 'parts', []) if type == b'Condensed' else []
    return [it for one in [*(inner(part, 'sent', {}) for part in of(list, parts)), receipt] if of(str, it := inner(one, 'digest', ''))]
def is_time(text): return isinstance(text, str) and re.fullmatch(r'[0-9]{4}(-[0-9]{2}){2}T([0-9]{2}:){2}[0-9]{2}\.[0-9]{3}Z', text)
def opened(four):
    time = (metadata := parse(four[3])).get('time')
    return sha256(b''.join(four)[:-1]).hex(), metadata['prev'], time if is_time(time) else None
def events_in(path, what):  # Each of them, with its hash, that of the one before it, which it names, and its time
    count, prev = 0, None
    with open(there(path), 'rb') as file:
        while four := [line for line in (file.readline() for _ in range(4)) if line]:
            need(len(four) == 4 and four[3].endswith(b'\n'), f'{path.name} ends in the middle of an event')
            found, before, time = opened(four) if four[0] != b'\n' else (*withheld(b''.join(four[1:]).decode()), None)
            need(before == prev, f'{what} {count} does not contain the hash of the one before it: an event was changed, removed or added')
            yield count, [line[:-1] for line in four], found, prev, time
            count, prev = count + 1, found
def check_chain(folder, manifest):
    first, hashes, left_out, receipts, times = 0, [], [], {}, []
    for count, (id, type, data, _), found, prev, time in events_in(folder / 'events.txt', 'event'):
        if not id: left_out.append(count)
        elif type == b'Forked':
            at, first = parse(data)['from'], count
            need(count and (number(at['position']), at['hash']) == (count - 1, prev), f'event {count} is not forked from the one before it')
        elif digests := receipts_in(type, data): receipts[count] = digests
        hashes.append(found)
        if time: times = [*times[:1], time]
    for name, fact in {'first': first, 'last': len(hashes) - 1, 'head': hashes[-1] if hashes else None, 'withheld': left_out}.items():
        need(manifest[name] == fact, f'bundle.json contradicts events.txt: {name}')
    return hashes, receipts, times
def check_turns(folder, turns):
    hashes, left_out, decisions = [], [], 0
    for count, (id, type, _, _), found, _, _ in events_in(folder / 'turns.txt', 'event of its turns'):
        hashes.append(found), [] if id else left_out.append(count)
        decisions += bool(id) and type == b'CallDecided'
    need((turns['events'], turns['withheld']) == (len(hashes), left_out), 'bundle.json contradicts turns.txt: turns')
    return hashes, decisions
def lines_of(path):
    *lines, rest = there(path).read_bytes().split(b'\n')
    need(rest == b'', f'{path.name} ends in the middle of a line')
    return lines
def check_requests(folder, manifest, receipts):
    parts, used, shown, digests, numbers = lines_of(folder / 'parts.txt'), set(), set(), set(), []
    for request in map(parse, lines_of(folder / 'requests.jsonl')):
        position, numbers = number(request['position']), numbers[:number(request['keep'])] + [*map(number, of(list, request['add']))]
        digest, key = sha256(b''.join(parts[i] for i in numbers)), inner(request, 'key', None)
        digest = (digest if key is None else sha256(bytes.fromhex(re.fullmatch('[0-9a-f]{64}', key)[0]) + digest)).hex()
        need(digest in receipts.get(position, []), f'a request does not match the receipt in event {position}')
        need((position, digest) not in shown, f'the request for the receipt in event {position} occurs twice')
        used.update(numbers), shown.add((position, digest)), digests.add(digest)
    need(used == set(range(len(parts))), 'parts.txt has parts that are in no request')
    need(manifest['requests'] == len(shown), 'bundle.json contradicts requests.jsonl: requests')
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
    need(own, f'the checkpoint is not signed by key {id.hex()} of {name}: the key belongs to another ledger or time', NotChecked)
    need(origin == name and all(own), 'the checkpoint was changed after it was signed with this key, or forged')
    return int(size), root
def check_leaf(leaf, tree, place):
    found = root_of(sha256(b'\0' + leaf.encode()), number(place['index']), tree[0], [*map(decoded, of(list, place['proof']))])
    need(found == tree[1], f'entry {number(place["index"])} of the signed ledger does not match the bundle')
def check_entries(entries, first, chains, tree):  # How many events of each chain are sealed
    (id, events), (turns, _), sealed, last = *chains.items(), {}, -1
    for one in entries:
        name, revision, position, index = of(str, one['name']), number(one['revision']), number(one['position']), number(one['index'])
        is_of_parent = position < first and revision <= position and re.fullmatch(ID, name)
        is_placed = position == revision + first if name == id else position == revision if name == turns else is_of_parent
        need(is_placed and index > last, 'entries.jsonl has an entry in the wrong place')
        chain = chains.get(name, events)
        need(position < len(chain), f'entry {index} of the ledger is for an event that is not in the bundle')
        check_leaf(f'{name}\n{revision}\n{chain[position]}\n', tree, one)
        sealed[name], last = max(sealed.get(name, 0), revision + 1), index
    return sealed.get(id, 0) and first + sealed[id], sealed.get(turns, 0)
def check_ledger(folder, manifest, chains, key):  # Why it is not proven, if it is not; how many events of each chain are
    if manifest['ledger'] is None: return 'there is no ledger: anyone who can write to the store could have fabricated all of this', (0, 0)
    if not key: return 'no key was given: anyone who can write to the store could have fabricated all of this', (0, 0)
    for one in of(list, parse(there(folder / 'keys.json').read_bytes())['rotations']):
        try: check_leaf('key\n' + one['key'] + '\n', check_note(one['checkpoint'], key), one)
        except (Broken, NotChecked): continue  # It is of keys before the one that was given.
        key = key_from(one['key'])
    need(note := there(folder / 'checkpoint.txt').read_bytes().decode(), 'checkpoint.txt is empty')
    tree, place, first = check_note(note, key), manifest['ledger'], manifest['first']
    if manifest['is_2']: entries = [*map(parse, lines_of(folder / 'entries.jsonl'))]
    else: NOW['file'], entries = 'bundle.json', [{**place, 'name': manifest['conversation'], 'position': first + place['revision']}]
    need(not manifest['is_2'] or place['entries'] == len(entries), 'bundle.json contradicts entries.jsonl: entries')
    proven = check_entries(entries, first, chains, tree)
    print(f'  sealed in the ledger {key[0]}, in a checkpoint of {tree[0]} entries that is signed with {key[3]}')
    if manifest['is_2']: print(f'  entries for this bundle: {len(entries)}; checkpoint time according to the store: {place["sealed"]}')
    newer, whose = manifest['last'] + 1 - max(proven[0], first), ''
    if not newer: newer, whose = manifest['turns']['events'] - proven[1], ' of its turns'
    return newer and f'the last {f"event{whose} is" if newer == 1 else f"{newer} events{whose} are"} newer than the ledger', proven
HIDDEN = '[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]'
def clear(text): return re.sub(HIDDEN, '\ufffd', text)
def texts_of(type, data):
    blocks = inner(parse(data), 'content', None) if type == b'MessageAppended' else None
    if not isinstance(blocks, list): return [blocks if isinstance(blocks, str) else data.decode(errors='replace')]
    return [text if isinstance(text := isinstance(it, dict) and it.get('text'), str) else compact(it) for it in blocks]
def compact(value): return (text := json.dumps(value, ensure_ascii=False, separators=(',', ':')))[:2000] + '\u2026' * (len(text) > 2000)
def show(folder, chains, proven):  # What is proven, as a transcript
    for file, mark, hashes, many in zip(('events.txt', 'turns.txt'), '#T', chains.values(), proven):
        for count, (id, type, data, _), found, _, time in events_in(folder / file, 'event') if many else ():
            if count == many: break
            need(found == hashes[count], f'{file} was changed while it was read')
            role = inner(parse(data), 'role', '') if id and type == b'MessageAppended' else ''
            words = f'{mark}{count}', time, type.decode(errors='replace') if id else 'withheld', str(role)
            print('  ' + clear(' '.join(filter(None, words))))
            for text in texts_of(type, data) if id else (): print('      ' + clear(text).replace('\n', '\n      '))
def manifest_in(text):  # Format 2 has what the turns of the conversation recorded, and each entry of the ledger.
    manifest = parse(text)
    need(version := re.fullmatch(r'palimpsest evidence ([1-9][0-9]{0,8})', str(manifest['format'])), 'bundle.json names an unknown format')
    need(int(version[1]) <= 2, f'this is {version[0]}: get a newer verify.py', NotChecked)
    is_2 = manifest['is_2'] = version[1] == '2'
    need(re.fullmatch(ID, manifest['conversation']), 'bundle.json names an invalid conversation id')
    place, turns = inner(manifest, 'ledger', None), of(dict, manifest['turns']) if is_2 else {'events': 0, 'withheld': []}
    if place is not None:
        place = {name: number(of(dict, place)[name]) for name in (('entries',) if is_2 else ('revision', 'index'))}
        more = 'sealed' if is_2 else 'proof'
        place[more] = manifest['ledger'].get(more)
        need(not is_2 or is_time(place[more]), 'bundle.json does not say when the ledger was sealed')
    facts = {name: number(manifest[name]) for name in ('first', 'last', 'requests')}
    withheld = [[*map(number, of(list, one['withheld']))] for one in (manifest, turns)]
    turns = {'events': number(turns['events']), 'withheld': withheld[1]}
    return {**manifest, **facts, 'head': manifest['head'], 'withheld': withheld[0], 'turns': turns, 'ledger': place}
def check(folder, key, is_shown=False):
    look(folder)
    manifest = manifest_in(there(folder / 'bundle.json').read_bytes())
    hashes, receipts, times = check_chain(folder, manifest)
    print(f'  {manifest["last"] + 1} events of {manifest["conversation"]}, each with the hash of the one before it')
    if times: print(f'  recorded from {times[0]} to {times[-1]}')
    turns, decisions = check_turns(folder, manifest['turns']) if manifest['is_2'] else ([], 0)
    if turns: print(f'  {len(turns)} events of its turns, each with the hash of the one before it; decisions on calls: {decisions}')
    missing, left_out = check_requests(folder, manifest, receipts), (manifest['withheld'], manifest['turns']['withheld'])
    print(f'  {manifest["requests"]} requests, each matching its receipt')
    if left_out[0]: print(f'  left out: the events {left_out[0]}')
    if left_out[1]: print(f'  left out: the events of its turns {left_out[1]}')
    if missing: print(f'  left out: the requests for the receipts in the events {missing}')
    chains = {manifest['conversation']: hashes, f'stream turns-{manifest["conversation"]}': turns}
    doubt, proven = check_ledger(folder, manifest, chains, key)
    if is_shown: show(folder, chains, proven)
    if doubt: return 4, f'NOT PROVEN: {doubt}'
    return (3, 'PROVEN, APART FROM WHAT IS LEFT OUT') if missing or any(left_out) else (0, 'PROVEN')
if __name__ == '__main__':
    if hasattr(signal, 'SIGPIPE'): signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.setrecursionlimit(5000), sys.stdout.reconfigure(errors='backslashreplace')
    parser = argparse.ArgumentParser(description=__doc__, epilog='Exit code: 0 or 3 proven, 4 not proven, 2 not checked, 1 broken')
    parser.add_argument('bundles', nargs='+', type=pathlib.Path)
    parser.add_argument('--key', help='verifier key of the ledger, or a file with it')
    parser.add_argument('--print', action='store_true', help='print what is proven, as a transcript')
    bundles, key, is_shown, codes = *vars(parser.parse_args()).values(), set()
    try: key = None if key is None else key_from((pathlib.Path(key).read_text('utf-8-sig') if pathlib.Path(key).is_file() else key).strip())
    except Exception: parser.error(f'--key {clear(key)} is neither a verifier key, such as a.org/log+1a2b3c4d+AZ..., nor a file with one')
    for bundle in bundles:
        print(bundle), NOW.update(file='the folder')
        try: code, verdict = check(bundle, key, is_shown)
        except Broken as problem: code, verdict = 1, f'BROKEN: {problem}'
        except NotChecked as problem: code, verdict = 2, f'NOT CHECKED: {problem}'
        except OSError: code, verdict = 2, f'NOT CHECKED: {NOW["file"]} cannot be read'
        except Exception: code, verdict = 1, f'BROKEN: {NOW["file"]} is malformed: get another copy of the bundle'
        codes.add(code), print(f'  {verdict}', flush=True)
    sys.exit(next(code for code in (1, 2, 4, 3, 0) if code in codes))
