import { pricesAsOf } from '../agent/models/prices.ts'

/** Number of entries kept in `moves`, some two megabytes. A list begun before the oldest entry must be restarted. */
export const keptMoves = 100_000

/** Version of the tables and their contents: a file of any other version is rebuilt. */
export const formatVersion = 21

/**
 * SQL schema of the index.
 *
 * `threads` has one row per conversation. `n` is the order in which the conversations were begun, and `from` is the position of the
 * first event in the conversation's own stream: before it, a fork has the events of its parent. All positions are positions in the
 * conversation. `last` is the last indexed position, `updated` and `time` are the time at which the last event that is not an erasure
 * was recorded, and `title` is the user's first words among the conversation's own first events. `has` contains the bits of `traits`.
 * `begun` is the time of the first own event, `source` the format from which it was imported, and `model` the model of the last reply. `usd`, `priced`, `unsure` and `recent` are the cost of
 * the own calls (cost-so-far.ts), at the prices of `pricesAsOf` in `meta`. `status` and `activity` say what the conversation does
 * (status.ts), up to revision `turns` of its turns, and `worked` when it last did something. `attempts` has the tool calls of the current
 * turn, from which retries follow (projections/retries.ts).
 * `chunks` has columns of own events (columns.ts), each with the numbers of its replies that have a receipt, of all its replies, and of its
 * errors, and the tally of its messages (tally.ts). `meter` is the state from which the tokens
 * after the next event follow (meter.ts): of a row, of a chunk before its first event, and after a mark. `marks` has the events that change more than the end of the effective history (weave.ts), and `contents` has the
 * segments shown after some of them. For a summary that a model wrote, `marks` also has a key that identifies the model's answer and
 * the number of calls made for it.
 * `docs` has ranges of own events with their words. Their texts are not stored: hits are read from the store. `titles` has the title
 * notes of conversations, and `noted` has the conversations with any notes.
 *
 * `moves` has the last changes of `updated`, with the previous value, so that a list being paged has each conversation in the place
 * that it had when the list began.
 */
export const schema = `
  CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE threads (
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    parent INTEGER,
    "from" INTEGER NOT NULL,
    last INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    time TEXT NOT NULL,
    title TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    meter TEXT NOT NULL,
    calls INTEGER NOT NULL,
    replies INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    has INTEGER NOT NULL,
    begun TEXT NOT NULL DEFAULT '',
    source TEXT,
    model TEXT,
    usd REAL NOT NULL DEFAULT 0,
    priced INTEGER NOT NULL DEFAULT 0,
    unsure INTEGER NOT NULL DEFAULT 0,
    recent TEXT,
    status TEXT NOT NULL DEFAULT 'idle',
    worked INTEGER NOT NULL DEFAULT 0,
    activity TEXT NOT NULL DEFAULT '{}',
    attempts TEXT,
    turns INTEGER NOT NULL DEFAULT -1,
    problem TEXT
  ) STRICT;
  CREATE INDEX threads_by_time ON threads (updated, n);
  CREATE INDEX threads_by_tokens ON threads (tokens, n);
  CREATE INDEX threads_by_parent ON threads (parent, n);
  CREATE INDEX threads_by_status ON threads (status, worked, errors, has);
  CREATE INDEX threads_with_problem ON threads (n) WHERE problem IS NOT NULL;
  CREATE TABLE moves (number INTEGER PRIMARY KEY AUTOINCREMENT, thread INTEGER NOT NULL, was INTEGER NOT NULL) STRICT;
  CREATE TRIGGER moved AFTER UPDATE OF updated ON threads WHEN OLD.updated <> NEW.updated BEGIN
    INSERT INTO moves (thread, was) VALUES (OLD.n, OLD.updated);
    DELETE FROM moves WHERE number <= last_insert_rowid() - ${keptMoves};
  END;
  CREATE TABLE chunks (
    thread INTEGER NOT NULL,
    number INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    replies INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    sum TEXT NOT NULL,
    columns BLOB NOT NULL,
    tools TEXT NOT NULL,
    meter TEXT NOT NULL,
    UNIQUE (thread, number)
  ) STRICT;
  CREATE TABLE marks (
    thread INTEGER NOT NULL,
    position INTEGER NOT NULL,
    kind TEXT NOT NULL,
    first INTEGER,
    last INTEGER,
    target INTEGER,
    own INTEGER NOT NULL,
    meter TEXT NOT NULL,
    since INTEGER NOT NULL,
    hidden INTEGER,
    before INTEGER,
    after INTEGER,
    method TEXT,
    tally TEXT,
    answer TEXT,
    calls INTEGER,
    PRIMARY KEY (thread, position)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE contents (
    thread INTEGER NOT NULL,
    position INTEGER NOT NULL,
    segments TEXT NOT NULL,
    PRIMARY KEY (thread, position)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX rewinds ON marks (thread, position) WHERE kind = 'W';
  CREATE TABLE actors (name TEXT NOT NULL, thread INTEGER NOT NULL, PRIMARY KEY (name, thread)) STRICT, WITHOUT ROWID;
  CREATE TABLE models (name TEXT NOT NULL, thread INTEGER NOT NULL, PRIMARY KEY (name, thread)) STRICT, WITHOUT ROWID;
  CREATE TABLE docs (
    doc INTEGER PRIMARY KEY,
    thread INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX docs_by_thread ON docs (thread, doc);
  CREATE VIRTUAL TABLE words USING fts5(
    text, content = '', columnsize = 0, detail = 'none', tokenize = 'trigram case_sensitive 1'
  );
  CREATE TABLE noted (conversation TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
  CREATE TABLE titles (
    number INTEGER PRIMARY KEY,
    conversation TEXT NOT NULL,
    revision INTEGER NOT NULL,
    at INTEGER NOT NULL,
    time TEXT NOT NULL,
    text TEXT NOT NULL,
    folded TEXT NOT NULL,
    UNIQUE (conversation, revision)
  ) STRICT;
  INSERT INTO meta VALUES ('build', lower(hex(randomblob(8))));
  INSERT INTO meta VALUES ('prices', '${pricesAsOf}');
  INSERT INTO meta VALUES ('created', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'));
  PRAGMA user_version = ${formatVersion};`
