import { fileURLToPath } from "node:url";
import type { Logger } from "@isochrone/runtime";
import { CallProcess } from "../child/call-process.ts";
import { NetworkError } from "./errors.ts";
import type { RelayCalls, RelayFault } from "./relay/messages.ts";

const ENTRY = fileURLToPath(new URL("relay/main.ts", import.meta.url));

export type RelayProcess = CallProcess<RelayCalls>;

export function spawnRelay(logger: Logger, onDown: (reason: string) => void): Promise<RelayProcess> {
  return CallProcess.spawn<RelayCalls>({
    entry: ENTRY,
    downError,
    failedError: (message) => new NetworkError("relay_failed", message),
    onDown,
    onOther(message) {
      const { event, message: reason } = message as RelayFault;
      logger.warnOnce(`${event} ${reason}`, event, { reason });
    },
  });
}

export function downError(reason: string): NetworkError {
  return new NetworkError("relay_down", `the relay of the emulated network is down (${reason})`);
}
