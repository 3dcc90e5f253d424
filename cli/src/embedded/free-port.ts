import { boundPort, codeOf } from "@isochrone/primitives";
import { createServer } from "node:net";
import { CommandError } from "../errors.ts";

const HOST = "127.0.0.1";

export async function freePort(): Promise<number> {
  return await tried(0);
}

export async function requireFreePorts(ports: readonly number[]): Promise<void> {
  for (const port of ports)
    await tried(port).catch((error: unknown) => {
      throw new CommandError(
        `port ${port} of ${HOST} must be free, ${problemOf(error)}; take others by --port NUMBER, which needs ${ports.length} in a row (0: any free ones)`,
      );
    });
}

function problemOf(error: unknown): string {
  const code = codeOf(error);
  if (code === "EADDRINUSE") return "another program listens there";
  return code === "EACCES" ? "this user may not listen there" : `got ${String(error)}`;
}

async function tried(wanted: number): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(wanted, HOST, resolve);
  });
  const port = boundPort(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}
