// Every printed sentence must be parsable: a new wording without a table row fails here.
import type { EndToEnd } from "@isochrone/lab";
import { describe, expect, test } from "vitest";
import type { ActResult } from "../embedded/acts.ts";
import { lineReporter } from "./reporters.ts";
import { readStatement } from "./statements.ts";

const figures = (p50Ms: number | null, p95Ms: number | null, errors = 0): EndToEnd => ({
  count: p50Ms === null ? 0 : 100,
  errors,
  p10Ms: p50Ms === null ? null : 0.8 * p50Ms,
  p50Ms,
  p50RangeMs: p50Ms === null ? null : [0.9 * p50Ms, 1.1 * p50Ms],
  p95RangeMs: p95Ms === null ? null : [0.9 * p95Ms, 1.1 * p95Ms],
  p90Ms: p95Ms,
  p95Ms,
  requestsPerSecond: 5,
  sendLateMs: 1,
  failure: errors === 0 ? null : "no answer within 10 s",
});
const RESULTS: readonly ActResult[] = [
  {
    act: "spread",
    endToEnd: figures(228, 497),
    networkMsPerRequest: 1_012,
    networkRangeMs: [1_000, 1_020],
    doubt: null,
  },
  {
    act: "score",
    endToEnd: figures(120, 240, 3),
    networkMsPerRequest: null,
    networkRangeMs: null,
    doubt: null,
  },
  {
    act: "plan",
    endToEnd: figures(60, 119),
    networkMsPerRequest: 101,
    networkRangeMs: [99, 110],
    doubt: "the machine was busy",
  },
];
const URLS = {
  page: "http://127.0.0.1:1",
  extender: "http://127.0.0.1:2/scheduler",
  lab: "http://127.0.0.1:3",
};
const LINK = { source: "east-a-1", target: "east-a-2", rttMs: 4.4 };
const moved = (workload: string, from: string, to: string) => {
  return { workload, from, to, target: to, outcome: "moved" as const };
};
const GROUP = {
  pods: [
    moved("m5", "east-a-1", "west-a-1"),
    moved("m7", "east-a-1", "west-a-1"),
    moved("db2", "east-a-2", "east-b-1"),
  ],
  reasons: ["The channels of 3 pods that move together cost 63 % less there."],
  before: figures(300, 800),
};
const WARM = { linksMeasured: 56, links: 56, channels: 21, podsReady: 17, pods: 17, seconds: 7 };
const BUSY = { isBusy: true, isLate: true, lateMs: 340, load: 26, cores: 2, pace: 2 };

function said(): { readonly lines: () => string[]; readonly reporter: ReturnType<typeof lineReporter> } {
  let text = "";
  const reporter = lineReporter({ write: (part) => (text += part) });
  return { reporter, lines: () => text.split("\n") };
}

describe("what isochrone up prints", () => {
  test("is of known forms, all of it", () => {
    const { reporter, lines } = said();
    reporter.starting(8);
    reporter.starting(null);
    reporter.startingPart({ part: "nodes and pods", done: 3, total: 6 });
    reporter.serving(URLS.page);
    reporter.started(URLS, 1, URLS.page);
    const sites = [{ name: "a", zone: "eu-1", region: "eu", row: 0 }];
    for (const derived of [[], ["regions"], ["zones", "regions"]] as const)
      reporter.network({ sites, derived });
    reporter.warming(WARM);
    reporter.warm(WARM);
    reporter.placed(RESULTS[0]!, null, []);
    reporter.replacing("score", RESULTS[0]!);
    for (const result of RESULTS)
      reporter.placed(result, RESULTS[0]!, [{ workload: "a", from: "n1", to: "n2" }]);
    reporter.placed({ ...RESULTS[0]!, endToEnd: figures(null, null, 7) }, null, []);
    reporter.placed({ ...RESULTS[0]!, endToEnd: figures(null, null) }, null, []);
    for (const after of [figures(60, 119, 90), figures(null, null, 7), figures(null, null)]) {
      const hopeless = { ...RESULTS[2]!, endToEnd: after };
      reporter.placed(hopeless, RESULTS[0]!, []);
      reporter.verdict([RESULTS[0]!, hopeless], LINK, true);
    }
    reporter.verdict(RESULTS, LINK, true);
    reporter.verdict(RESULTS, null, false);
    reporter.machine(BUSY);
    reporter.machine({ ...BUSY, isBusy: false });
    reporter.moved(GROUP);
    for (const doubt of [null, "the machine was busy"])
      for (const after of [figures(150, 200), figures(null, null, 4)])
        reporter.moveMeasured(GROUP, after, doubt);
    reporter.networkDown("relay ended");
    reporter.trouble("the graphs can't be read, trying again", new Error("no"));
    reporter.trouble("the workflow was not placed anew", new Error("no"));
    reporter.stopping();
    reporter.stopped();
    expect(lines().filter((line) => readStatement(line) === null)).toEqual([]);
  });

  test("keeps its figures and ways", () => {
    const { reporter, lines } = said();
    reporter.moved(GROUP);
    reporter.moveMeasured(GROUP, figures(150, 200), null);
    reporter.placed(RESULTS[2]!, RESULTS[0]!, []);
    const change = (before: number, after: number) => ({ before, after });
    expect(lines().slice(0, 3).map(readStatement)).toEqual([
      {
        kind: "moved",
        count: 3,
        ways: [
          { workloads: ["m5", "m7"], from: "east-a-1", to: "west-a-1" },
          { workloads: ["db2"], from: "east-a-2", to: "east-b-1" },
        ],
      },
      {
        kind: "moveMeasured",
        what: "m5, m7, db2",
        p50Ms: change(300, 150),
        p95Ms: change(800, 200),
        failed: change(0, 0),
        isClaimed: true,
      },
      {
        kind: "placed",
        act: "the whole workflow, by plan",
        p50Ms: 60,
        p95Ms: 119,
        networkMs: 101,
        isClaimed: false,
      },
    ]);
  });

  test.each([
    ["moving 2 pods: m5, m7 a -> b: Its channels cost 5 % less there.", "moving"],
    ["moving 1 pod: m5 a -> b", "moving"],
    ["moved 1 pod: m5 a -> (no replacement yet): b was lost.", "moved"],
    ["1 move failed: m5 a -> c, not to b", "moveFailed"],
    ["2 moves failed: m5 stays on a, not on b; m6 left a and had no ready replacement in time", "moveFailed"],
    ["1 pod still moving: m5 from a to b", "stillMoving"],
  ])("%s", (line, kind) => expect(readStatement(line)).toMatchObject({ kind }));

  test.each([
    "moved 2 pods",
    "moved 1 pod: m5 to b",
    "1 move failed: m5 is gone",
    "relocated m5 a -> b",
    "all is well",
  ])("%s is unknown", (line) => expect(readStatement(line)).toBeNull());
});
