import type { EndToEnd } from "@isochrone/lab";
import { describe, expect, test } from "vitest";
import type { EndedMove } from "../embedded/move-log.ts";
import type { ActResult, PlacingAct } from "../embedded/acts.ts";
import { lineReporter } from "./reporters.ts";
import { screenReporter } from "./screen-reporter.ts";
import {
  latencyText,
  machineText,
  movedText,
  moveMeasuredText,
  trialText,
  verdictText,
} from "./sentences.ts";

const figures = (p50Ms: number, p95Ms: number): EndToEnd => ({
  count: 100,
  errors: 0,
  p10Ms: 0.8 * p50Ms,
  p50Ms,
  p50RangeMs: [0.9 * p50Ms, 1.1 * p50Ms],
  p95RangeMs: [0.9 * p95Ms, 1.1 * p95Ms],
  p90Ms: p95Ms,
  p95Ms,
  requestsPerSecond: 5,
  sendLateMs: 1,
  failure: null,
});
const result = (act: PlacingAct, endToEnd: EndToEnd, networkMs: number): ActResult => ({
  act,
  endToEnd,
  networkMsPerRequest: networkMs,
  networkRangeMs: [0.98 * networkMs, 1.02 * networkMs],
  doubt: null,
});
const RESULTS: readonly ActResult[] = [
  result("spread", figures(228, 497), 1_012),
  result("score", figures(120, 240), 402),
  result("plan", figures(60, 119), 101),
];
const URLS = {
  page: "http://127.0.0.1:8080",
  extender: "http://127.0.0.1:8081/scheduler",
  lab: "http://127.0.0.1:8082",
};
const LINK = { source: "east-a-1", target: "east-a-2", rttMs: 4.4 };

describe("the verdict", () => {
  test("is a line for each act, with percentages against the first", () => {
    expect(verdictText(RESULTS).split("\n")).toEqual([
      "placed                                network per request  p50             p95",
      "(a) without knowledge of the network  1012 ms              228 ms          497 ms",
      "(b) pod by pod, by score              402 ms (-60 %)       120 ms (-47 %)  240 ms (-52 %)",
      "(c) the whole workflow, by plan       101 ms (-90 %)       60 ms (-74 %)   119 ms (-76 %)",
    ]);
  });

  const busy = (at: number): ActResult => ({ ...RESULTS[at]!, doubt: "the machine was busy" });

  test("of a busy machine says about and how far it may be off, and compares what can be compared", () => {
    expect(
      verdictText([busy(0), RESULTS[1]!, busy(2)])
        .split("\n")
        .slice(1),
    ).toEqual([
      "(a) without knowledge of the network  about 1012 ms         about 228 ms         about 497 ms",
      "(b) pod by pod, by score              402 ms (-60 %)        120 ms (-47 %)       240 ms",
      "(c) the whole workflow, by plan       about 101 ms (-90 %)  about 60 ms (-74 %)  about 119 ms",
      "(a) is approximate, network from 992 to 1032 ms, p50 from 182 to 251 ms: the machine was busy.",
      "(c) is approximate, network from 99 to 103 ms, p50 from 48 to 66 ms: the machine was busy.",
      "Without a percentage: no difference from (a) is known beyond the error.",
    ]);
  });

  test("claims no gain and no loss within the error, and none of requests that failed", () => {
    const close = { ...RESULTS[1]!, endToEnd: figures(210, 560), networkRangeMs: [390, 1_000] as const };
    const failed = { ...busy(2), endToEnd: { ...figures(60, 119), errors: 90 } };
    const [, , second, third, ...notes] = verdictText([RESULTS[0]!, close, failed]).split("\n");
    expect(second).not.toContain("%");
    expect(third).toMatch(/^\(c\) .* about 101 ms \(-90 %\) +about 60 ms +about 119 ms$/);
    expect(notes).toEqual([
      "(c) is without p50 and p95 to compare: the machine was busy.",
      "Without a percentage: no difference from (a) is known beyond the error.",
    ]);
  });

  test("is followed by commands that can be typed as they stand", () => {
    const text = trialText(LINK, URLS, true);
    expect(text).toContain("npx isochrone lab link east-a-1 east-a-2 --delay 80ms\n");
    expect(text).toContain("npx isochrone lab kill east-a-1\n");
    const elsewhere = trialText({ ...LINK, rttMs: 31 }, { ...URLS, lab: "http://127.0.0.1:9302" }, false);
    expect(elsewhere).toContain("--delay 130ms --lab http://127.0.0.1:9302");
    expect(elsewhere).not.toContain("kill");
  });
});

test("requests of which none was answered are never a row of dashes", () => {
  const none = { ...figures(1, 1), count: 0, errors: 76, p50Ms: null, p95Ms: null };
  expect(latencyText({ ...none, failure: "no answer within 10 s" })).toBe(
    "none of 76 requests was answered (no answer within 10 s)",
  );
});

test("a busy machine is one line with what shows it and what follows", () => {
  const state = { isBusy: true, isLate: true, lateMs: 340.2, load: 26, cores: 2, pace: 2 };
  expect(machineText(state)).toMatch(/^the machine is busy \(.* 340 ms late, load 26\.0 on 2 cores\): .*$/);
});

const ended = (
  outcome: EndedMove["outcome"],
  workload: string,
  from: string,
  to: string | null,
  target = to,
): EndedMove => ({ workload, from, to, target, outcome });

test("a move is one line: what, where, why; and what it brought is another", () => {
  const group = {
    pods: [
      ended("moved", "m5", "east-a-1", "west-a-1"),
      ended("moved", "m7", "east-a-1", "west-a-1"),
      ended("failed", "db2", "east-a-2", null, "west-a-1"),
    ],
    reasons: ["its channels get shorter", "the channels of a stage get shorter"],
    before: figures(300, 800),
  };
  const many = Array.from({ length: 17 }, (_, at) => ended("moved", `m${at}`, "a", "b"));
  expect(moveMeasuredText({ ...group, pods: many }, figures(150, 200), null)).toMatch(
    /^the move of 17 pods brought /,
  );
  expect(movedText(group)).toBe(
    "moved 2 pods: m5, m7 east-a-1 -> west-a-1: its channels get shorter\n1 move failed: db2 left east-a-2 and had no ready replacement in time",
  );
  expect(moveMeasuredText(group, figures(150, 200), null)).toBe(
    "the move of m5, m7 brought p50 300 ms -> 150 ms (-50 %), p95 800 ms -> 200 ms (-75 %), failed requests 0 % -> 0 %",
  );
  expect(moveMeasuredText(group, figures(350, 900), "the machine was busy")).toBe(
    "the move of m5, m7: p50 300 ms -> 350 ms, p95 800 ms -> 900 ms, failed requests 0 % -> 0 %; not to be compared: the machine was busy",
  );
});

test.each<[EndedMove, string]>([
  [ended("moved", "db4", "east-a-2", "east-b-1"), "moved 1 pod: db4 east-a-2 -> east-b-1: why"],
  [
    ended("failed", "db4", "east-a-2", "east-b-1", "west-a-1"),
    "1 move failed: db4 east-a-2 -> east-b-1, not to west-a-1",
  ],
  [
    ended("failed", "db4", "east-a-2", "east-a-2", "west-a-1"),
    "1 move failed: db4 stays on east-a-2, not on west-a-1",
  ],
  [
    ended("failed", "db4", "east-a-2", null, "west-a-1"),
    "1 move failed: db4 left east-a-2 and had no ready replacement in time",
  ],
  [ended("moving", "db4", "east-a-2", null, "west-a-1"), "1 pod still moving: db4 from east-a-2 to west-a-1"],
])("only pods that are where they were to go are moved: %o", (pod, text) => {
  expect(movedText({ pods: [pod], reasons: ["why"], before: figures(1, 1) })).toBe(text);
});

describe("where it is told", () => {
  test("a file gets a line for each event and no orders for a terminal", () => {
    let text = "";
    const reporter = lineReporter({ write: (part) => (text += part) });
    reporter.started(URLS, 1, URLS.page);
    reporter.placed(RESULTS[0]!, null, []);
    reporter.replacing("score", RESULTS[0]!);
    reporter.placed(RESULTS[1]!, RESULTS[0]!, [{ workload: "a", from: "n1", to: "n2" }]);
    reporter.verdict(RESULTS, LINK, true);
    expect(text).not.toContain("\u001b");
    expect(text).toContain(
      "\npods moved: 1; pod by pod, by score: network 402 ms per request, p50 120 ms, p95 240 ms (100 requests, 0 failed)\n",
    );
    expect(text).toContain(`\n${verdictText(RESULTS)}\n`);
  });

  test("a terminal gets one screen that fits it, drawn over itself, with the logs in it", () => {
    let screen = "";
    const out = { isTTY: true, rows: 24, columns: 100, write: (part: string) => (screen = part) };
    const reporter = screenReporter(out, () => "12:00:00");
    reporter.started(URLS, 1, URLS.page);
    reporter.verdict(RESULTS, LINK, true);
    reporter.log("x".repeat(1_000));
    for (let line = 0; line < 20; line++) reporter.log(`line ${line} ${"of a log that is long ".repeat(10)}`);
    expect(screen.startsWith("\u001b[H")).toBe(true);
    expect(screen.endsWith("\u001b[J")).toBe(true);
    const lines = screen
      // eslint-disable-next-line no-control-regex
      .replaceAll(/\u001b\[[HKJ]/g, "")
      .trimEnd()
      .split("\n");
    expect(lines.length).toBeLessThan(24);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(100);
    expect(screen).toContain("(c) the whole workflow, by plan");
    expect(screen).toContain("12:00:00  line 1");
    expect(screen).not.toContain("line 3 ");
  });
});
