import { describe, expect, it } from "vitest";
import { formatChannels, parseChannels } from "./channels-annotation.ts";

describe("the annotation of channels", () => {
  const channels = [
    {
      source: { namespace: "shop", name: "web" },
      target: { namespace: "data", name: "db" },
      priority: 100,
      relationshipType: "HTTPRoute",
    },
    {
      source: { namespace: "shop", name: "web" },
      target: { namespace: "shop", name: "cache" },
      priority: null,
      relationshipType: null,
    },
  ];

  it("is read as it was written", () => {
    const text = formatChannels(channels, "shop");
    expect(JSON.parse(text)).toEqual([
      { source: "web", target: "data/db", type: "HTTPRoute", priority: 100 },
      { source: "web", target: "cache" },
    ]);
    expect(parseChannels(text, "shop")).toEqual(channels);
  });

  it("is read as far as it can be", () => {
    expect(parseChannels("{", "shop")).toBe(null);
    expect(parseChannels('{"source": "a"}', "shop")).toBe(null);
    const odd = [
      null,
      3,
      { source: "a" },
      { source: "a", target: "/b" },
      { source: "a", target: "b", priority: -1, type: 7 },
    ];
    expect(parseChannels(JSON.stringify(odd), "shop")).toEqual([
      {
        source: { namespace: "shop", name: "a" },
        target: { namespace: "shop", name: "b" },
        priority: null,
        relationshipType: null,
      },
    ]);
  });
});
