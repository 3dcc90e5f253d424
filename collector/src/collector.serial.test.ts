import { randomBytes } from "node:crypto";
import type { RequestListener } from "node:http";
import { afterEach, expect, it } from "vitest";
import { CollectorTests, istioAt } from "./testing/collector-tests.ts";
import { page } from "./testing/servers.ts";

const GOOD = `# TYPE istio_requests_total counter
istio_requests_total{reporter="source",source_workload="m0",destination_workload="m1"} 7
`;
const SCRAPES = "isochrone_collector_scrapes_total";
const ROUNDS = "isochrone_collector_round_duration_seconds";

const tests = new CollectorTests();
afterEach(() => tests.end());

it("reads hundreds of pages in every round, some of which hang, answer slowly, or have no end", async () => {
  const hostile: RequestListener[] = [
    () => undefined,
    (_, response) => void response.writeHead(200, { "content-type": "text/plain" }).write("a"),
    (_, response) => {
      response.writeHead(200, { "content-type": "text/plain" });
      const noise = randomBytes(65_536);
      // Writes at network speed: time spent here is not spent reading.
      const more = (): void => {
        if (response.destroyed) return;
        response.write(noise);
        setTimeout(more, 5);
      };
      more();
    },
  ];
  const bad = await Promise.all(hostile.map((listener) => tests.serving(listener)));
  const good = await tests.serving(page(GOOD));
  const targets = istioAt([
    ...Array.from({ length: 30 }, (_, index) => bad[index % bad.length]!),
    ...Array.from({ length: 300 }, () => good),
  ]);
  // A page that failed twice skips a whole round, and a pause of one round would leave that to chance.
  const running = await tests.run(targets, { intervalMs: 2_500, timeoutMs: 500, maxBackoffRounds: 4 });
  const read = (): Promise<number> => running.metric(SCRAPES, { result: "ok" });
  const ended = (): Promise<number> => running.metric(ROUNDS, { le: "+Inf" });
  const found = async (): Promise<number[]> => [
    await running.metric("isochrone_collector_targets_up", { kind: "istio" }),
    await running.metric("isochrone_collector_targets_failing", { kind: "istio" }),
  ];
  await running.until(async () => (await found()).join() === "300,30");
  const before = await read();
  const rounds = await ended();
  await running.until(async () => (await read()) >= before + 600);
  // Two rounds, although a tenth of the pages holds its connection; one more if the machine stalled.
  expect((await ended()) - rounds).toBeLessThanOrEqual(3);
  await running.until(async () => (await found()).join() === "300,30");
  await running.until(
    async () => (await running.metric("isochrone_collector_skipped_total", { reason: "backoff" })) > 0,
  );
});
