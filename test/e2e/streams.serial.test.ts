// Jobs placed by a baseline, by the controller, and after a link lost capacity.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { EmbeddedSystem } from "../harness/embedded.ts";

interface Figures {
  readonly job: string;
  readonly predicted: number | null;
  readonly measured: number | null;
  readonly limit: string;
}

type Acts = Readonly<Record<"changed" | "joint" | "tp", readonly Figures[]>>;

const sum = (figures: readonly Figures[]): number =>
  figures.reduce((all, { measured }) => all + (measured ?? 0), 0);
const least = (figures: readonly Figures[]): number =>
  Math.min(...figures.map(({ measured }) => measured ?? 0));

describe("the embedded cluster of stream jobs", { timeout: 240_000 }, () => {
  let system: EmbeddedSystem;
  let acts: Acts;

  beforeAll(async () => {
    system = await EmbeddedSystem.start("--streams");
    acts = (await system.event("verdict", 200_000))["acts"] as Acts;
  }, 480_000);

  afterAll(async () => {
    await system?.stop();
  });

  it.each(["tp", "joint", "changed"] as const)("measures in act %s what the model says", (act) => {
    expect(acts[act]).toHaveLength(4);
    for (const { predicted, measured, limit } of acts[act]) {
      expect(limit).toMatch(/^(link|task) /);
      expect(measured! / predicted!).toBeGreaterThan(0.8);
      expect(measured! / predicted!).toBeLessThan(1.06);
    }
  });

  it("gives more frames with the controller, and the slowest job more than twice as many", () => {
    expect(sum(acts.joint)).toBeGreaterThan(1.3 * sum(acts.tp));
    expect(least(acts.joint)).toBeGreaterThan(2 * least(acts.tp));
  });

  it("shares anew what a link has lost", () => {
    expect(sum(acts.changed)).toBeLessThan(sum(acts.joint));
    expect(system.events.find(({ event, act }) => event === "placing" && act === "changed")).toMatchObject({
      what: expect.stringMatching(/^link camera-1 - box-1 has 6 Mbit\/s instead of 12 Mbit\/s$/),
    });
  });

  it("serves the flows that its managers keep", async () => {
    const flows = await system.cli("flows", "--server", system.urls.page);
    expect(flows).toMatch(/site\/yard\/decode->detect +4\.182 Mbit\/s .*camera-3 box-2/);
  });

  it("explains a job", async () => {
    const text = await system.cli("explain", "gate", "-n", "site", "--server", system.urls.page);
    expect(text).toMatch(/^StreamJob site\/gate: Running, .*\nlimited by link camera-1 -> box-1$/m);
    expect(text).toMatch(/^source -> decode +.* Mbit\/s +camera-1 box-1/m);
  });

  it("ends in good order", async () => {
    expect(await system.stop()).toBe(0);
  });
});

it("refuses a file of streams that can't run, with what is wrong in it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "isochrone-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "streams.yaml");
  writeFileSync(file, "{ apiVersion: v1, kind: Node, metadata: { name: a }, status: {} }\n");
  const refused = EmbeddedSystem.launch(["--streams", "--manifest", file]);
  await expect(refused.event("started", 60_000)).rejects.toThrow(
    "status.allocatable.memory must be a quantity",
  );
});
