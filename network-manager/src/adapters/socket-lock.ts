import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { codeOf } from "@isochrone/primitives";
import type { NodeLock } from "../ports/ports.ts";

/**
 * An abstract Unix socket belongs to the network namespace, like the rules, and vanishes with its process:
 * only one manager per node holds it, across containers.
 */
export function createSocketLock(name: string): NodeLock {
  let held: Server | null = null;
  return {
    async hold(): Promise<boolean> {
      if (held !== null) return true;
      const server = createServer((socket) => socket.destroy());
      server.unref();
      try {
        server.listen(`\0${name}`);
        await once(server, "listening");
      } catch (error) {
        if (codeOf(error) === "EADDRINUSE") return false;
        throw error;
      }
      held = server;
      return true;
    },
    async release(): Promise<void> {
      held?.close();
      held = null;
    },
  };
}
