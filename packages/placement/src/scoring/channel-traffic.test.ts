import type { Channel } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { DEFAULT_BYTES_PER_REQUEST } from "./channel-traffic.ts";
import { ColumnPool } from "./columns.ts";
import type { PlacementProblem } from "./problem.ts";
import { createStrategy } from "../profile.ts";
import { DEFAULT_WEIGHTS, ResourceNetwork } from "../resource-network/resource-network.ts";
import type { ScoreTable } from "./score-table.ts";
import { channel, handWorked, links, node, problem, workload } from "../testing/problems.ts";

const requested = (source: string, target: string, requestsPerSecond: number): Channel =>
  channel(source, target, null, { requestsPerSecond });

const withChannels = (...channels: Channel[]): PlacementProblem => handWorked({}, channels);

const valuedAt = (bytesPerRequest: number): ResourceNetwork =>
  new ResourceNetwork("normalized", DEFAULT_WEIGHTS, bytesPerRequest);
const network = (table: ScoreTable): number[] | null => {
  const column = table.parts["network"] ?? null;
  return column === null ? null : [...column].map((value) => Number(value.toFixed(6)));
};
const words = (table: ScoreTable): string => table.explanation.sentences.join(" ");

describe("the traffic of a channel, worked by hand", () => {
  test.each([
    ["requests only", [requested("p", "q", 10), requested("r", "p", 5)], 100, [-30_000, -12_500, -25_000]],
    // n1: 10 x 1,000 + 40 x 10,000; n2: 25 x 10,000; n3: 25 x 1,000.
    [
      "bytes, requests",
      [channel("p", "q", 1_000), requested("r", "p", 5)],
      2_000,
      [-410_000, -250_000, -25_000],
    ],
    // n1: 10 x 20,000; n3: 25 x 20,000. r -> p is unknown.
    ["requests, neither", [requested("p", "q", 10), channel("r", "p", null)], 2_000, [-200_000, 0, -500_000]],
    ["bytes, neither", [channel("p", "q", 1_000), channel("r", "p", null)], 2_000, [-10_000, 0, -25_000]],
    ["both", [channel("p", "q", 1_000, { requestsPerSecond: 9 })], 2_000, [-10_000, 0, -25_000]],
    ["no request, bytes", [requested("p", "q", 0), channel("r", "p", 500)], 2_000, [-20_000, -12_500, 0]],
  ])("%s", (_, channels, bytesPerRequest, expected) => {
    expect(network(valuedAt(bytesPerRequest).score(withChannels(...channels)))).toEqual(expected);
  });

  test("is shared by replicas as measured bytes are", () => {
    const nodes = ["n1", "n2", "n3"].map((name) => node(name, 1_000, 1e9));
    const between = links(["n1", "n2", 10], ["n1", "n3", 40], ["n2", "n3", 25]);
    const use = { cpu: 500, memory: 2e8 };
    const workloads = [workload("p", use, {}), workload("q", use, { "q-1": "n2", "q-2": "n3" })];
    const table = valuedAt(100).score(problem(nodes, between, workloads, [requested("p", "q", 10)]));
    // 500 B/s with each: n1 (10 + 40) x 500, n2 and n3 25 x 500.
    expect(network(table)).toEqual([-25_000, -12_500, -12_500]);
  });

  test("counts 2,000 bytes a request when nothing else is said", () => {
    const table = new ResourceNetwork("normalized").score(withChannels(requested("p", "q", 3)));
    expect(DEFAULT_BYTES_PER_REQUEST).toBe(2_000);
    expect(network(table)).toEqual([-60_000, 0, -150_000]);
  });
});

describe("the explanation", () => {
  test("names the channels that were valued by requests, the busiest first, and the figure", () => {
    const { explanation } = valuedAt(1_500).score(
      withChannels(requested("r", "p", 0.25), requested("p", "q", 40)),
    );
    expect(explanation.sentences).toContain(
      "Channels whose bytes nobody counts were valued at 1500 bytes per request: p -> q (40 requests/s), r -> p (0.25 requests/s).",
    );
    expect(explanation.inputs).toMatchObject({ channelsByRequests: 2, bytesPerRequest: 1_500 });
    expect(explanation.neutral).toEqual([]);
  });

  test("names five of many", () => {
    const many = Array.from({ length: 8 }, (_, index) => requested("p", `q${index}`, index + 1));
    const { explanation } = valuedAt(10).score(withChannels(...many, channel("p", "q", 1)));
    const said = explanation.sentences.find((sentence) => sentence.startsWith("Channels whose bytes"))!;
    expect(said).toMatch(/request: p -> q7 \(8 requests\/s\), .*, p -> q3 \(4 requests\/s\) and 3 more\.$/);
    expect(explanation.inputs.channelsByRequests).toBe(8);
  });

  test("names a workload's channel to itself once", () => {
    const { explanation } = valuedAt(10).score(withChannels(requested("p", "p", 5), channel("p", "q", 1)));
    expect(explanation.inputs.channelsByRequests).toBe(1);
  });

  test("says nothing of requests where bytes are measured", () => {
    const table = new ResourceNetwork("normalized").score(handWorked());
    expect(words(table)).not.toContain("request");
    expect(table.explanation.inputs).toMatchObject({ channelsByRequests: 0, bytesPerRequest: null });
  });

  test("says of channels of which neither is known that they count for nothing", () => {
    const table = valuedAt(2_000).score(withChannels(requested("p", "q", 10), channel("r", "p", null)));
    expect(words(table)).toContain("1 channels of unknown traffic counted for nothing.");
    expect(table.explanation.inputs.channelsByRequests).toBe(1);
  });

  test("stays the same when the pool is used for another pod", () => {
    const [strategy, pool] = [valuedAt(1_500), new ColumnPool()];
    const { explanation } = strategy.score(withChannels(requested("p", "q", 40)), pool);
    const before = explanation.sentences;
    strategy.score(withChannels(requested("r", "p", 7)), pool);
    expect(explanation.sentences).toEqual(before);
    expect(before.join(" ")).toContain("p -> q (40 requests/s)");
  });
});

describe("the network part is neutral", () => {
  test("when neither bytes nor requests of any channel are known", () => {
    const { explanation } = valuedAt(2_000).score(
      withChannels(channel("p", "q", null), channel("r", "p", null)),
    );
    expect(explanation.neutral).toEqual([
      { part: "network", reason: "the traffic of its workload's channels is not known" },
    ]);
    expect(explanation.inputs).toMatchObject({ channelsByRequests: 0, bytesPerRequest: null });
  });

  test("when requests are known and count for nothing by the setting", () => {
    const { explanation } = valuedAt(0).score(withChannels(requested("p", "q", 10)));
    expect(explanation.neutral[0]!.reason).toBe(
      "the traffic of its workload's channels is not known in bytes, and bytesPerRequest is 0",
    );
  });

  test("when no request was made, which is traffic of 0 and known", () => {
    const { explanation } = valuedAt(2_000).score(withChannels(requested("p", "q", 0)));
    expect(explanation.neutral[0]!.reason).toBe(
      "none of the pods it talks to is placed, or there is no traffic",
    );
  });
});

describe("raw, the paper's own sum", () => {
  const raw = new ResourceNetwork("raw", DEFAULT_WEIGHTS, 2_000);

  test("leaves channels out whose bytes nobody measured, and says so", () => {
    const table = raw.score(withChannels(channel("p", "q", 1_000), requested("r", "p", 5)));
    expect(network(table)).toEqual([-10_000, 0, -25_000]);
    expect(words(table)).toContain(
      "1 channels of unknown traffic counted for nothing; the requests of 1 of them are known, but raw mode counts measured bytes only.",
    );
    expect(table.explanation.inputs).toMatchObject({ channelsByRequests: 0, bytesPerRequest: null });
  });

  test("is neutral when only requests are known, and says why", () => {
    const { explanation } = raw.score(withChannels(requested("p", "q", 10)));
    expect(explanation.neutral).toEqual([
      {
        part: "network",
        reason:
          "the traffic of its workload's channels is not known in bytes, and raw mode counts measured bytes only",
      },
    ]);
  });
});

describe("bytesPerRequest", () => {
  test.each([[-1], [Number.NaN], [Infinity]])("of %d is refused with setting, rule and value", (value) => {
    const profile = {
      strategy: "resource-network",
      mode: "normalized",
      settings: { bytesPerRequest: value },
    };
    expect(() => createStrategy(profile)).toThrow(
      `bytesPerRequest must be a finite number of at least 0, got ${value}`,
    );
  });

  test("of a profile is what the strategy counts", () => {
    const profile = { strategy: "resource-network", mode: "normalized", settings: { bytesPerRequest: 300 } };
    const table = createStrategy(profile).score(withChannels(requested("p", "q", 10)));
    expect(network(table)).toEqual([-30_000, 0, -75_000]);
  });

  test("so large that the product is beyond numbers leaves costs what they are", () => {
    const table = valuedAt(1e308).score(withChannels(requested("p", "q", 1e308)));
    expect([...table.score].every((value) => value >= 0 && value <= 100)).toBe(true);
    expect(words(table)).not.toMatch(/unknown|unreachable/);
    expect(network(table)![1]).toBe(0);
  });
});
