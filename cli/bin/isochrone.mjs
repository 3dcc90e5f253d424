#!/usr/bin/env node
// Starts the command under Node 24: this file runs on the system's Node, which may not read TypeScript.
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runWithNode24 } from "../../tools/node24.mjs";

// Compiled code is kept between runs, by Node keyed to its version: the embedded cluster starts some twenty
// processes of the same programs.
process.env.NODE_COMPILE_CACHE ??= join(
  process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"),
  "isochrone",
  "compile",
);
// The page's modules are stripped of their types by Node itself, whose only warning says that this is new.
runWithNode24([
  "--disable-warning=ExperimentalWarning",
  fileURLToPath(new URL("../src/main.ts", import.meta.url)),
  ...process.argv.slice(2),
]);
