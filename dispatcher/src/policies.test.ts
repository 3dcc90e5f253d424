import { EndpointPolicy } from "@isochrone/dispatch/learned";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { ask } from "./testing/client.ts";
import { after, Counted, known, load } from "./testing/counted.ts";
import { dispatcherConfig, DispatchRig } from "./testing/dispatch-rig.ts";

const rigs: DispatchRig[] = [];
afterEach(async () => {
  for (const rig of rigs.splice(0)) await rig.stop();
});

async function started(policy: string): Promise<DispatchRig> {
  const rig = await new DispatchRig({ config: { policy } }).start();
  rigs.push(rig);
  await rig.service("web");
  return rig;
}

function fileOf(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "isochrone-weights-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "weights.json");
  writeFileSync(file, text);
  return file;
}

describe("the learned policy", () => {
  test("chooses with the weights that come with it, and says that it did", async () => {
    const rig = await started("learned");
    await rig.endpoint(after(1));
    await rig.endpoint(after(1));
    await known(rig, 2);
    expect(await load(rig, 30, 3)).toEqual(Array.from({ length: 30 }, () => 200));
    const decisions = rig.dispatcher.decisions(null, 20);
    expect(new Set(decisions.map(({ policy }) => policy))).toEqual(new Set(["learned"]));
    expect((await rig.metric("unlearned_total"))[0]!.value).toBe(0);
  });

  test("gives an endpoint that fails at once less than 1.5 of its share", async () => {
    const rig = await started("learned");
    const failing = new Counted(after(0, 503));
    const others = [1, 2, 3].map(() => new Counted(after(5)));
    for (const { listener } of [failing, ...others]) await rig.endpoint(listener);
    await known(rig, 4);
    for (const each of [failing, ...others]) each.requests = 0;
    await load(rig, 400, 8);
    const all = [failing, ...others].reduce((sum, { requests }) => sum + requests, 0);
    expect(failing.requests / all).toBeLessThan(1.5 / 4);
  });

  test("leaves the choice to the rule where it has no answer, and says so", async () => {
    const policy = new EndpointPolicy(1);
    for (const { values } of policy.net.parameters()) values.fill(3e38);
    const rig = await started(`learned:${fileOf(policy.text())}`);
    await rig.endpoint(after(1));
    await vi.waitFor(async () => expect((await ask(rig.port)).status).toBe(200));
    await vi.waitFor(() =>
      expect(rig.dispatcher.decisions(null, 1)[0]).toMatchObject({ policy: "deadline" }),
    );
    expect((await rig.metric("unlearned_total"))[0]!.value).toBeGreaterThan(0);
    expect(rig.logger.lines.filter(({ event }) => event.includes("has no answer"))).toHaveLength(1);
  });

  test.each([
    ["no file", null, /ENOENT/],
    ["no weights", "{}", /format must be isochrone-weights/],
    [
      "another version",
      new EndpointPolicy().text().replace('"version": 1', '"version": 2'),
      /version must be 1/,
    ],
    ["another net", new EndpointPolicy().text().replace('"endpoints"', '"kais"'), /kind must be endpoints/],
    [
      "other numbers",
      new EndpointPolicy().text().replace(/"values": "..../, '"values": "AAAA'),
      /sha256 must be/,
    ],
  ])("isn't begun with %s", (_name, text, message) => {
    const file = text === null ? "/nowhere/weights.json" : fileOf(text);
    expect(() => new DispatchRig({ config: { policy: `learned:${file}` } })).toThrow(
      "dispatcher.policy must name weights that can be used",
    );
    expect(() => new DispatchRig({ config: { policy: `learned:${file}` } })).toThrow(message);
  });
});

test.each(["learnt", "learned:", "least-request:x", ""])("a policy %j is refused", (policy) => {
  expect(() => dispatcherConfig({ policy })).toThrow(/dispatcher\.policy/);
});
