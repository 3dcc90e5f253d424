import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { conductText, outFolder, textOf } from "../frame/testing/conduct-text.ts";
import { ModelRun } from "../testbed/model/testbed.ts";
import { dayOf } from "./day.ts";
import type { BillContender } from "./cells.ts";
import { readBillScenario } from "./scenario.ts";

const QUICK = readBillScenario(textOf("bill"), "bill.yaml", true);

test("a quick run: by money less is paid than by default, and nothing is left out", async () => {
  const options = { out: outFolder(), contenders: ["default", "same-zone", "money"] };
  const done = await conductText("bill", options);
  expect(done.verdicts.map(({ isHeld }) => isHeld)).toEqual([true]);
  expect([done.cells, done.measured]).toEqual([9, 9]);
  const rows = readFileSync(done.files.csv, "utf8")
    .split("\n")
    .map((row) => row.split(","));
  const moneyOf = (who: BillContender): number =>
    rows.filter(([contender]) => contender === who).reduce((sum, row) => sum + Number(row[2]), 0);
  expect(moneyOf("same-zone")).toBeLessThan(moneyOf("default"));
  expect(readFileSync(done.files.html, "utf8")).toContain("money costs");
  // Keeps the earlier results.
  expect((await conductText("bill", options)).measured).toBe(0);
});

test("the model counts bytes by the nodes at both ends, and keeps them in the zone where that is preferred", async () => {
  const drawn = dayOf({ ...QUICK, hours: 1 }, 0);
  const workloads = drawn.workflow.workloads.map((each) => ({ ...each, replicas: 3 }));
  const point = { ...drawn, workflow: { ...drawn.workflow, workloads } };
  const { nodes } = point.cluster;
  // Replica i of each service runs on the first node of zone i.
  const placement = new Map(
    point.workflow.workloads.flatMap(({ name, replicas }) =>
      Array.from({ length: replicas }, (_, at) => [`${name}-${at}`, nodes[3 * at]!.name] as const),
    ),
  );
  const counted = async (
    prefersSameZone: boolean,
  ): Promise<{ all: number; between: number; seen: number }> => {
    const workflow = { ...point.workflow, ...(prefersSameZone ? { prefersSameZone: true as const } : {}) };
    const run = new ModelRun(
      { hopMs: 0 },
      { ...point, workflow },
      placement,
      1,
      new AbortController().signal,
    );
    await run.run(20);
    const pairs = [...run.bytesBetween.entries()];
    const between = pairs.filter(([pair]) => {
      const [from, to] = [nodes[Math.floor(pair / nodes.length)]!, nodes[pair % nodes.length]!];
      return from.zone !== to.zone;
    });
    const sum = (of: typeof pairs): number => of.reduce((total, [, bytes]) => total + bytes, 0);
    const { traffic } = run.observe();
    const seen = traffic.reduce((total, { bytesPerSecond }) => total + bytesPerSecond, 0);
    return { all: sum(pairs), between: sum(between), seen };
  };
  const spread = await counted(false);
  expect(spread.between / spread.all).toBeCloseTo(2 / 3, 1);
  const near = await counted(true);
  expect(near.between).toBe(0);
  // The interval exceeds 20 s slightly: it ends with the last answer.
  expect(near.all / 20 / near.seen).toBeCloseTo(1, 1);
});

test("mistakes of a file are named", () => {
  const text = textOf("bill").replace("users: 120", "users: 0").replace("hours: 24", "hour: 24");
  expect(() => readBillScenario(text, "own.yaml")).toThrow(/users must be at least 1|hour/);
});
