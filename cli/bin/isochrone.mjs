#!/usr/bin/env node
// Starts the command under Node 24: this file runs on the system's Node, which may not read TypeScript.
import { fileURLToPath } from "node:url";
import { runWithNode24 } from "../../tools/node24.mjs";

// The page's modules are stripped of their types by Node itself, whose only warning says that this is new.
runWithNode24(["--disable-warning=ExperimentalWarning", fileURLToPath(new URL("../src/main.ts", import.meta.url)), ...process.argv.slice(2)]);
