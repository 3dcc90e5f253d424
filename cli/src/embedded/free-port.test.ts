import { createServer, type AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { freePort, requireFreePorts } from "./free-port.ts";

async function taken(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

test("a port that another program has is refused before anything starts, with what to do", async () => {
  const port = await taken();
  await expect(requireFreePorts([port - 1, port])).rejects.toThrow(
    /port \d+ of 127\.0\.0\.1 must be free, another program listens there; take others by --port NUMBER/,
  );
});

test("free ports stay free", async () => {
  const port = await freePort();
  await expect(requireFreePorts([port])).resolves.toBeUndefined();
  await expect(requireFreePorts([port])).resolves.toBeUndefined();
});
