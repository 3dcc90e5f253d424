import { createServer } from "node:http";
import { once } from "node:events";
import { boundPort } from "@isochrone/primitives";
import { systemClock } from "@isochrone/runtime";
import { expect, onTestFinished, test, vi } from "vitest";
import { LoadGenerator, steadyLoad } from "./generator.ts";

const WITHIN = { timeout: 60_000 };

test("a load generator that is killed starts again, knows its entry and is counted", async () => {
  let requests = 0;
  const server = createServer((_request, response) => {
    requests++;
    response.end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const restarts: number[] = [];
  const generator = new LoadGenerator(steadyLoad(50), systemClock, {
    onRestart: (count) => restarts.push(count),
  });
  onTestFinished(() => generator.stop());
  generator.setEndpoints("entry", [{ host: "127.0.0.1", port: boundPort(server) }]);
  for (const count of [1, 2]) {
    await vi.waitFor(() => expect(requests).toBeGreaterThan(5), WITHIN);
    const pid = generator.pid!;
    process.kill(pid, "SIGKILL");
    await vi.waitFor(() => expect(restarts.at(-1)).toBe(count), WITHIN);
    expect(generator.pid).not.toBe(pid);
    requests = 0;
  }
  await vi.waitFor(() => expect(requests).toBeGreaterThan(5), WITHIN);
  expect((await generator.report(30_000)).errors).toBe(0);
});

test("a load generator that is stopped stays away", async () => {
  const restarts: number[] = [];
  const generator = new LoadGenerator(steadyLoad(1), systemClock, {
    onRestart: (count) => restarts.push(count),
  });
  const pid = generator.pid!;
  await generator.stop();
  expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  expect(restarts).toEqual([]);
});
