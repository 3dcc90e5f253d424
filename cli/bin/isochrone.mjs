#!/usr/bin/env node
// Starts the command under Node 24: this file must run on older system Nodes, which may not read TypeScript.
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runWithNode24 } from "../../tools/node24.mjs";

// Keeps compiled code between runs, keyed by Node version: the embedded cluster starts some twenty processes
// of the same programs.
process.env.NODE_COMPILE_CACHE ??= join(
  process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"),
  "isochrone",
  "compile",
);
// Silences Node's only warning about type stripping, which says that it is new.
runWithNode24([
  "--disable-warning=ExperimentalWarning",
  fileURLToPath(new URL("../src/main.ts", import.meta.url)),
  ...process.argv.slice(2),
]);
