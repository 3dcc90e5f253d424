import type { RequestListener } from "node:http";
import { afterEach, describe, expect, test, vi } from "vitest";
import { ask } from "./testing/client.ts";
import { Counted, known, load } from "./testing/counted.ts";
import { DispatchRig } from "./testing/dispatch-rig.ts";

let rig: DispatchRig;
afterEach(() => rig.stop());

async function started(): Promise<void> {
  rig = await new DispatchRig().start();
}

describe("what endpoints say of their load", () => {
  const reporting =
    (header: string): RequestListener =>
    (_request, response) => {
      response.setHeader("endpoint-load-metrics", header);
      response.end();
    };

  test("keeps requests away from full ones", async () => {
    await started();
    await rig.service("web");
    const full = new Counted(reporting("TEXT cpu_utilization=0.99,rps_fractional=100"));
    const idle = new Counted(reporting('JSON {"cpuUtilization": 0.05, "rpsFractional": 10}'));
    await rig.endpoint(full.listener);
    await rig.endpoint(idle.listener);
    await known(rig, 2);
    await vi.waitFor(async () => {
      await ask(rig.port);
      expect(full.requests).toBeGreaterThan(0);
      expect(idle.requests).toBeGreaterThan(0);
    });
    full.requests = idle.requests = 0;
    await load(rig, 60, 2);
    expect(idle.requests / (idle.requests + full.requests)).toBeGreaterThan(0.8);
    const [taken] = await rig.metric("load_reports_total");
    expect(taken!.labels).toEqual({ result: "taken" });
  });

  test.each([
    "TEXT cpu_utilization=-1",
    "TEXT cpu_utilization=NaN",
    "TEXT cpu_utilization=1e300",
    "TEXT cpu_utilization",
    "JSON {",
    'JSON {"cpu_utilization": "0.5"}',
    "JSON []",
    "BIN AAAA",
    "nonsense",
    `TEXT cpu_utilization=0.5,named_metrics.x=${"9".repeat(5_000)}`,
  ])("is passed over where it can't be: %s", async (header) => {
    await started();
    await rig.service("web");
    await rig.endpoint(reporting(header));
    await vi.waitFor(async () => expect((await ask(rig.port)).status).toBe(200));
    expect(await rig.metric("load_reports_total")).toMatchObject([
      { labels: { result: "malformed" }, value: 1 },
    ]);
  });

  test("is asked where the Service names a path; hanging, lying and endless answers do no harm", async () => {
    await started();
    await rig.service("web", { annotations: { "isochrone.dev/load-path": "/load" } });
    let wasAsked = 0;
    const probed =
      (answer: RequestListener): RequestListener =>
      (request, response) => {
        if (request.url !== "/load") return void response.end();
        wasAsked++;
        return answer(request, response);
      };
    await rig.endpoint(probed((_request, response) => response.end('{"application_utilization": 0.2}')));
    await rig.endpoint(probed(() => undefined));
    await rig.endpoint(
      probed((_request, response) => {
        const endless = setInterval(() => response.write("x".repeat(1_000)), 5);
        response.once("close", () => clearInterval(endless));
      }),
    );
    await rig.endpoint(probed((_request, response) => response.end('{"cpu_utilization": 1e308}')));
    await known(rig, 4);
    await vi.waitFor(
      async () => {
        expect(await load(rig, 20, 2)).not.toContain(503);
        const results = (await rig.metric("probes_total")).map(({ labels }) => labels);
        expect(results).toEqual(
          expect.arrayContaining([{ result: "taken" }, { result: "malformed" }, { result: "failed" }]),
        );
      },
      { timeout: 10_000 },
    );
    expect(wasAsked).toBeGreaterThan(3);
  });
});
