import { describe, expect, test } from "vitest";
import { DeclarationRights, fairLimit, OWN_NAMESPACE_ONLY, resolveDeclarations } from "./declarations.ts";
import type { ChannelDeclaration, ChannelDemands } from "./declarations.ts";

const NOTHING: ChannelDemands = { priority: null, maxNetworkCost: null, minBandwidthBitsPerSecond: null };

function by(declaredIn: string, channel: string, demands: Partial<ChannelDemands> = {}): ChannelDeclaration {
  const [source, target] = channel.split(" -> ").map((text) => {
    const [namespace, name] = text.split("/");
    return { namespace: namespace!, name: name! };
  });
  return { declaredIn, source: source!, target: target!, ...NOTHING, ...demands };
}

const resolve = (declarations: ChannelDeclaration[], ...rights: string[]) => {
  const { channels, refused } = resolveDeclarations(declarations, DeclarationRights.of(rights));
  return {
    channels: channels.map(({ source, target, maxNetworkCost, agreed }) => [
      `${source.namespace}/${source.name} -> ${target.namespace}/${target.name}`,
      maxNetworkCost,
      agreed?.maxNetworkCost,
    ]),
    refused: refused.length,
  };
};

describe("a declaration", () => {
  test("may add channels between the workloads of its namespace and from them to others", () => {
    expect(resolve([by("a", "a/x -> a/y"), by("a", "a/x -> b/y", { maxNetworkCost: 0 })])).toEqual({
      channels: [
        ["a/x -> a/y", null, undefined],
        ["a/x -> b/y", 0, undefined],
      ],
      refused: 0,
    });
  });

  test.each(["b/x -> b/y", "b/x -> c/y", "b/x -> a/y"])("in a may not add %s", (channel) => {
    expect(resolve([by("a", channel, { maxNetworkCost: 0 })])).toEqual({ channels: [], refused: 1 });
  });

  test("binds the other end's pods when its namespace declares the channel too, by what that one says first", () => {
    const asked = by("a", "a/x -> b/y", { maxNetworkCost: 0 });
    expect(resolve([asked, by("b", "a/x -> b/y")]).channels).toEqual([["a/x -> b/y", 0, 0]]);
    expect(resolve([by("b", "a/x -> b/y", { maxNetworkCost: 50 }), asked]).channels).toEqual([
      ["a/x -> b/y", 0, 50],
    ]);
  });

  test("that only agrees to a channel makes none", () => {
    expect(resolve([by("b", "a/x -> b/y"), by("c", "a/x -> b/y")])).toEqual({ channels: [], refused: 2 });
  });

  test("may speak for the namespaces that an operator names, and no others", () => {
    const asked = [
      by("a", "a/x -> b/y", { maxNetworkCost: 0 }),
      by("a", "b/x -> c/y"),
      by("a", "c/x -> b/y"),
    ];
    expect(resolve(asked, "a->b")).toEqual({
      channels: [
        ["a/x -> b/y", 0, 0],
        ["b/x -> c/y", null, undefined],
      ],
      refused: 1,
    });
    expect(resolve(asked, "*->*").refused).toBe(0);
    expect(resolve(asked, "b->a", "a->c").channels).toEqual([
      ["a/x -> b/y", 0, undefined],
      ["c/x -> b/y", null, undefined],
    ]);
  });

  test("of the namespace itself goes before one by an operator's right, whichever comes last", () => {
    const own = by("b", "b/x -> b/y", { maxNetworkCost: 7 });
    const granted = by("a", "b/x -> b/y", { maxNetworkCost: 1 });
    expect(resolve([own, granted], "a->b").channels).toEqual([["b/x -> b/y", 7, undefined]]);
    expect(resolve([granted, own], "a->b").channels).toEqual([["b/x -> b/y", 7, undefined]]);
  });

  test("counts last among those of one right", () => {
    const first = by("a", "a/x -> a/y", { maxNetworkCost: 1 });
    const last = by("a", "a/x -> a/y", { maxNetworkCost: 2 });
    expect(resolveDeclarations([first, last], OWN_NAMESPACE_ONLY).channels).toMatchObject([
      { maxNetworkCost: 2 },
    ]);
  });
});

test.each([
  [[], 10, Infinity],
  [[3, 4], 10, Infinity],
  [[3, 400], 10, 7],
  [[400, 500, 1], 10, 4],
  [[10_000, 10_000, 10_000], 9, 3],
])("of %j wanting %d in all, each gets at most %d", (wanted, total, limit) => {
  expect(fairLimit(wanted, total)).toBe(limit);
});
