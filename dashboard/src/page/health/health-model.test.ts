import { clusterColumnsOf, type ClusterGraphSnapshot, type Health } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { clusterViewOf } from "../model/cluster-view.ts";
import {
  coverageNote,
  departureFindings,
  findingsOf,
  instrumentsOf,
  partitionsInWords,
  replicasOf,
} from "./health-model.ts";

const node = (name: string, usageAgeSeconds: number | null) => ({
  name,
  zone: null,
  region: null,
  coordinate: null,
  usageAgeSeconds,
});
const link = (source: string, target: string, ageSeconds: number | null, lossRatio = 0) => ({
  source,
  target,
  method: "udp_rr",
  ipFamily: 4,
  rttMs: { p50: lossRatio === 1 ? null : 1, p90: null, p99: null, mean: 1, count: 1 },
  lossRatio,
  costMs: null,
  errorMs: null,
  origin: "measured",
  provisional: false,
  ageSeconds,
});
const view = clusterViewOf(
  clusterColumnsOf({
    version: 1,
    observedAt: "2026-01-01T00:00:00Z",
    windowSeconds: 30,
    nodes: [
      node("well", 1),
      node("mute", 1),
      node("old", 1),
      node("alone", 1),
      node("blind", null),
      node("half", 1),
    ],
    links: [
      link("well", "old", 1),
      link("old", "well", 1000),
      link("alone", "well", 1, 1),
      link("blind", "well", 1),
      link("half", "well", 1),
      link("half", "old", 1, 1),
    ],
  } as unknown as ClusterGraphSnapshot),
);

const health: Health = {
  observedAt: "2026-01-01T00:00:00Z",
  ready: true,
  reasons: [],
  version: 1,
  graphAgeSeconds: 1,
  buildFailures: 0,
  intake: {
    records: 1,
    points: 1,
    missing: 0,
    publisherDropped: 0,
    tooLate: 0,
    duplicates: 0,
    deadLetters: 0,
    refused: { malformed: 0 },
    unused: {},
  },
  sizes: { series: 1, links: 1, channels: 1, pods: 1, eventClients: 1 },
  probing: { plannedPairs: null, uncoveredZones: null },
  sampleAgeSeconds: null,
  replicas: { replica: null, live: null, isLeader: null, lag: [] },
  clocks: [],
};

describe("health", () => {
  test("tells which instruments are sick, and how", () => {
    expect(Object.fromEntries(instrumentsOf(view).map((each) => [each.node, each.words]))).toEqual({
      mute: "no probe reports",
      old: "the probe is silent",
      alone: "no peer answers",
      blind: "no usage is known",
      half: "1 of 2 peers don't answer",
      well: "well",
    });
    expect(instrumentsOf(view).at(-1)!.node).toBe("well");
  });

  test("covers no pairs of nodes that are down", () => {
    const [up, down] = [{ down: null }, { down: "b is not ready" }];
    expect(coverageNote(56, 56, [up, up])).toBe("56 pairs measured of 56 planned");
    expect(coverageNote(56, null, [up])).toBe("56 pairs measured");
    expect(coverageNote(42, 49, [up, down])).toBe("42 pairs measured; pairs of 1 node that is down left out");
    expect(coverageNote(30, 49, [down, down])).toMatch(/pairs of 2 nodes that are down left out$/);
  });
  test("finds nothing where nothing is, and names the worst first", () => {
    expect(findingsOf(health, [], 30)).toEqual([]);
    const sick = {
      ...health,
      ready: false,
      reasons: ["waiting"],
      intake: {
        ...health.intake,
        missing: 3,
        refusedNow: [{ source: "node/n1", reason: "bad_headers", refused: 2 }],
      },
    };
    const findings = findingsOf(sick, instrumentsOf(view), 30);
    expect(findings.map(({ level, title }) => `${level}: ${title}`)).toEqual([
      "bad: The aggregator isn't ready",
      "bad: No probe reports from 1 node: mute",
      "bad: No new answers from the probe of 1 node: old",
      "bad: No peer answers 1 node: alone",
      "warn: 3 records never came",
      "warn: 2 points or records were refused in the last window",
      "warn: Some peers don't answer: half → old",
      "warn: No CPU and memory usage of 1 node: blind",
    ]);
    expect(findings[0]!.remedy).toContain("waiting");
    expect(findings[5]!.remedy).toContain("Most of them: bad headers. All came from node/n1.");
  });

  test("warns of what is refused now, by who sends it, and not of what was refused once", () => {
    const since = { malformed: 2_000, future: 7 };
    expect(findingsOf({ ...health, intake: { ...health.intake, refused: since } }, [], 30)).toEqual([]);
    const refusedNow = [
      { source: "node/n1", reason: "future", refused: 5 },
      { source: "node/n2", reason: "malformed", refused: 1 },
    ];
    const found = findingsOf({ ...health, intake: { ...health.intake, refused: since, refusedNow } }, [], 30);
    expect(found).toEqual([
      {
        level: "warn",
        title: "6 points or records were refused in the last window",
        remedy:
          "Most of them: future. Of 2 sources node/n1 sent most. Find the details in the aggregator's log.",
      },
    ]);
  });

  test("warns of points that are in no graph by their largest reasons, but not of metrics that nothing reads", () => {
    const row = (reason: string, points: number) => ({
      reason,
      points,
      example: "istio_requests_total",
      remedy: `Look for ${reason}.`,
    });
    const withUnused = (...unusedNow: ReturnType<typeof row>[]) =>
      findingsOf({ ...health, intake: { ...health.intake, unusedNow } }, [], 30);
    expect(withUnused(row("unknown_metric", 900))).toEqual([]);
    expect(withUnused(row("unknown_metric", 900), row("other_cluster", 40), row("unknown_pod", 2))).toEqual([
      {
        level: "warn",
        title: "42 points of the last window are in no graph: other cluster (40), unknown pod (2)",
        remedy: "Most of them, such as istio_requests_total: Look for other_cluster.",
      },
    ]);
  });

  test("names the next step of whatever it finds, and the worst offender", () => {
    const all = instrumentsOf(view);
    const many = Array.from({ length: 5 }, (_, index) => ({
      ...all[0]!,
      node: `n-${index}`,
      cause: "mute" as const,
    }));
    const findings = findingsOf(
      {
        ...health,
        ready: false,
        buildFailures: 1,
        intake: {
          ...health.intake,
          missing: 1,
          publisherDropped: 1,
          deadLetters: 1,
          refusedNow: [
            { source: "node/n1", reason: "too_old", refused: 5 },
            { source: "node/n1", reason: "malformed", refused: 1 },
          ],
        },
        clocks: [
          { source: "probe/a", skewSeconds: -90 },
          { source: "probe/b", skewSeconds: 7 },
        ],
      },
      [...all, ...many],
      30,
    );
    const words = findings.map(({ title, remedy }) => `${title}. ${remedy}`);
    for (const each of words) expect(each).toMatch(/\b([Rr]ead|[Cc]heck|Open|Find|look for|raise)\b/);
    expect(words.join("\n")).toContain("The clock of probe/a is off by 90 s");
    expect(words.join("\n")).toContain("Most of them: too old.");
    expect(words.join("\n")).toContain("n-1 and 3 more");
  });

  test("names what is cut, up to four", () => {
    expect(findingsOf(health, [], 30, ["a → b", "c"])).toMatchObject([
      { level: "bad", title: "No answer: a → b, c" },
    ]);
    const many = ["a", "b", "c", "d", "e", "f"];
    expect(findingsOf(health, [], 30, many)[0]!.title).toBe("No answer: a, b, c, d and 2 more");
  });

  test("of several replicas all count, and one that can't be asked is told", () => {
    const own = replicasOf(health)[0]!;
    const lag = [
      { topic: "isochrone.probe.v1", partition: "10", records: 9_000 },
      { topic: "isochrone.usage.v1", partition: "1", records: 1 },
      { topic: "isochrone.probe.v1", partition: "2", records: 2_000 },
    ];
    const all = [
      { ...own, replica: "a", lag },
      { ...own, replica: "b", problem: "it answered 403", ready: null },
    ];
    const findings = findingsOf({ ...health, replicas: { ...health.replicas, all } }, [], 30);
    expect(findings.map(({ title }) => title)).toEqual([
      "1 replica of the aggregator can't be asked",
      "11 k records wait to be read",
    ]);
    expect(findings[0]!.remedy).toContain("b: it answered 403");
    expect(partitionsInWords(lag)).toBe("probe 2, 10; usage 1");
  });
});

test("pairs that changed are named, six at most, what raises most of them first", () => {
  const pair = (source: string) => ({
    source,
    target: "z",
    kind: "loss" as const,
    since: "2026-01-01T14:35:00Z",
    now: 0.05,
    before: 0.001,
    error: 0.02,
    acceptedAt: "2026-01-01T15:35:00Z",
    workloads: ["shop/web -> shop/db", "shop/db -> shop/log"],
  });
  const since = "2026-01-01T14:36:00Z";
  const titles = departureFindings(
    {
      pairs: Array.from("abcdefg", pair),
      counts: { latency: 20, loss: 7 },
      common: [{ kind: "latency", since, pairs: 20, all: 28 }],
    },
    (at) => at.slice(11, 16),
  ).map(({ title }) => title);
  expect(titles).toHaveLength(7);
  expect(titles[0]).toBe(
    "20 of 28 pairs of nodes are slower than before since 14:36: the machines, or the whole network",
  );
  expect(titles[1]).toBe(
    "a ↔ z loses 5 % of packets since 14:35, 0.1 % before; shop/web -> shop/db, shop/db -> shop/log talk over it",
  );
  expect(titles[6]).toBe("2 more pairs of nodes changed");
});
