import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { SystemSettings } from "../requests/settings.ts";
import { SYSTEM } from "../testing/system.ts";
import { committedWeights, LEARNED, LearnedPolicies, type LearnedContender } from "./learned.ts";
import { readCurve, train } from "./train.ts";

const TINY: SystemSettings = { ...SYSTEM, sites: 2, nodesPerSite: [2], frameSeconds: 5, perSecond: 3 };

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "isochrone-training-"));
  onTestFinished(() => rmSync(made, { recursive: true }));
  return made;
}

async function trained(
  into: string,
  contender: LearnedContender,
  decisions: number,
  stopAfter?: number,
): Promise<string> {
  const stop = new AbortController();
  let episodes = 0;
  return train({
    contender,
    settings: TINY,
    seed: 3,
    decisions,
    folder: into,
    episodesPerPoint: 2,
    signal: stop.signal,
    onProgress: () => {
      if (++episodes === stopAfter) stop.abort(new Error("ended"));
    },
  });
}

describe("training", () => {
  it("that was ended goes on from its last checkpoint, and gives the same weights byte by byte", async () => {
    const [whole, ended] = [folder(), folder()];
    const file = await trained(whole, "kais", 1_200);
    await expect(trained(ended, "kais", 1_200, 3)).rejects.toThrow("ended");
    expect(existsSync(join(ended, "kais-weights.json"))).toBe(false);
    const resumed = await trained(ended, "kais", 1_200);
    expect(readFileSync(resumed, "utf8")).toBe(readFileSync(file, "utf8"));
    expect(readCurve(ended, "kais")).toEqual(readCurve(whole, "kais"));
    expect(readCurve(whole, "kais").map(({ episodes }) => episodes)).toEqual([0, 2, 4]);
  }, 120_000);

  it("doesn't go on from a checkpoint of other settings", async () => {
    const into = folder();
    await trained(into, "kais-improved", 1_000);
    const go = train({
      contender: "kais-improved",
      settings: { ...TINY, perSecond: 4 },
      seed: 3,
      decisions: 2_000,
      folder: into,
      signal: new AbortController().signal,
      onProgress: () => {},
    });
    await expect(go).rejects.toThrow(/kais-improved-checkpoint.json: kind must be checkpoint/);
  }, 120_000);

  it("has no curve before it begins, and leaves half a line out", () => {
    const into = folder();
    expect(readCurve(into, "kais")).toEqual([]);
    const point = { episodes: 0, decisions: 0, frames: 0, inTime: 0.5, movedGb: 4 };
    writeFileSync(join(into, "kais-curve.jsonl"), `${JSON.stringify(point)}\n{"episodes":10,"inT`);
    expect(readCurve(into, "kais")).toEqual([point]);
  });
});

describe("weights of learned policies", () => {
  const policies = (file: string): LearnedPolicies =>
    new LearnedPolicies({ kais: file, "kais-improved": file });

  it.each(LEARNED)("%s come with the project, small and whole", (contender) => {
    const file = committedWeights(contender);
    expect(statSync(file).size).toBeLessThan(2e6);
    expect(policies(file).controls(contender, 1, SYSTEM)).not.toBeNull();
  });

  it("aren't used for a system of another size, or where there are none", () => {
    const file = committedWeights("kais");
    expect(policies(file).controls("kais", 1, { ...SYSTEM, sites: 10 })).toBeNull();
    expect(policies(file).controls("kais", 1, { ...SYSTEM, nodesPerSite: [3, 15] })).toBeNull();
    expect(policies(join(tmpdir(), "none.json")).controls("kais", 1, SYSTEM)).toBeNull();
  });

  it("are refused when they are damaged or for another net", () => {
    const file = join(folder(), "weights.json");
    const text = readFileSync(committedWeights("kais"), "utf8");
    writeFileSync(file, text.replace('"version": 1', '"version": 9'));
    expect(() => policies(file).controls("kais", 1, SYSTEM)).toThrow(`${file}: version must be 1, got 9`);
    writeFileSync(file, text);
    expect(() => policies(file).controls("kais-improved", 1, SYSTEM)).toThrow(
      `${file}: kind must be kais-improved, got kais`,
    );
  });
});
