import { fileURLToPath } from "node:url";
import { CallProcess } from "../child/call-process.ts";
import { NamespaceError } from "./errors.ts";
import type { WireCalls } from "./wire/messages.ts";

const ENTRY = fileURLToPath(new URL("wire/main.ts", import.meta.url));

/** Calls reject with NamespaceError `wire_down` or `wire_failed`. */
export type WireProcess = CallProcess<WireCalls>;

export function spawnWire(): Promise<WireProcess> {
  return CallProcess.spawn<WireCalls>({
    entry: ENTRY,
    // Otherwise garbage collection waits for helper threads without the packet thread's priority.
    execArgv: ["--single-threaded-gc"],
    // Packets contain bytes and 64-bit times, which JSON can't represent.
    serialization: "advanced",
    downError: (reason) => new NamespaceError("wire_down", `the wire of the lab is down (${reason})`),
    failedError: (message) => new NamespaceError("wire_failed", message),
  });
}
