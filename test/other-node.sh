#!/usr/bin/env bash
# Runs the stores' contract and the properties on another Node: test/other-node.sh 22
set -euo pipefail
version=$1
cd "$(dirname "$0")/.."
run() { npm exec --yes --package="node@$version" -- node "$@"; }
echo "on Node $(run --version)"
NODE_OPTIONS=--disable-warning=ExperimentalWarning \
  run node_modules/vitest/vitest.mjs run test/contract test/property test/store/conversation.test.ts test/store/sqlite.test.ts
