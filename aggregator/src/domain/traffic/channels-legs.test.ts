import { describe, expect, test } from "vitest";
import { ChannelTable } from "./channels.ts";
import type { Flow, Reporter } from "../channel-key.ts";

const SHAPE = { windowMs: 30_000, paneMs: 2000, panes: 15, fastPanes: 3 };
const NOW = 1_700_000_000_000;

function drawn(
  reports: readonly (readonly [string, string, Reporter, Flow])[],
  atMs = NOW + 10_000,
): string[] {
  const table = new ChannelTable(SHAPE, 100);
  for (const [source, target, reporter, flow] of reports) {
    const channel = table.open({ sourceNamespace: "shop", source, targetNamespace: "shop", target })!;
    channel.side(reporter).take(flow, { fromMs: NOW, toMs: NOW + 10_000, delta: 1000, reset: false });
  }
  return [...table.values()].flatMap((channel) => {
    const rates = channel.rates(atMs, "full");
    return rates === null ? [] : [`${channel.key.source} ${channel.key.target} ${rates.reporter}`];
  });
}

const WHOLE = ["web", "db", "waypoint", "bytes"] as const;
const TO = ["web", "gate", "source", "tcpBytes"] as const;
const FROM = ["gate", "db", "destination", "tcpBytes"] as const;

describe("hops through a waypoint", () => {
  test("are not drawn beside the whole channel", () => {
    expect(drawn([TO, FROM, WHOLE])).toEqual(["web db waypoint"]);
  });

  test("are hidden for each of several clients and servers", () => {
    const more = [
      ["api", "gate", "source", "tcpBytes"],
      ["api", "db", "waypoint", "requests"],
      ["gate", "cache", "destination", "tcpBytes"],
      ["web", "cache", "waypoint", "bytes"],
    ] as const;
    expect(drawn([TO, FROM, WHOLE, ...more])).toEqual([
      "web db waypoint",
      "api db waypoint",
      "web cache waypoint",
    ]);
  });

  test("are drawn where no waypoint reports the whole: something is better than nothing", () => {
    expect(drawn([TO, FROM])).toEqual(["web gate source", "gate db destination"]);
  });

  test("are drawn again once the waypoint has been silent for a window", () => {
    const table = new ChannelTable(SHAPE, 100);
    const report = (
      [source, target, reporter, flow]: typeof TO | typeof FROM | typeof WHOLE,
      toMs: number,
    ): void => {
      const channel = table.open({ sourceNamespace: "shop", source, targetNamespace: "shop", target })!;
      channel.side(reporter).take(flow, { fromMs: toMs - 2000, toMs, delta: 10, reset: false });
    };
    const reporters = (nowMs: number): (string | undefined)[] =>
      [...table.values()].map((channel) => channel.rates(nowMs, "full")?.reporter);
    report(WHOLE, NOW);
    for (const at of [NOW, NOW + 40_000]) for (const hop of [TO, FROM]) report(hop, at);
    expect(reporters(NOW)).toEqual(["waypoint", undefined, undefined]);
    expect(reporters(NOW + 40_000)).toEqual([undefined, "source", "destination"]);
  });
});

describe("what is no hop is drawn", () => {
  test("a workload between two others whose own proxies report", () => {
    const chain = [
      ["web", "api", "source", "tcpBytes"],
      ["web", "api", "destination", "tcpBytes"],
      ["api", "db", "source", "tcpBytes"],
      ["api", "db", "destination", "tcpBytes"],
    ] as const;
    expect(drawn([...chain, WHOLE])).toEqual(["web api source", "api db source", "web db waypoint"]);
  });

  test("calls of the same client to others", () => {
    const other = ["web", "mail", "source", "tcpBytes"] as const;
    expect(drawn([TO, FROM, WHOLE, other])).toEqual(["web db waypoint", "web mail source"]);
  });

  test("what else a waypoint talks to", () => {
    const traces = ["gate", "tracing", "destination", "tcpBytes"] as const;
    expect(drawn([TO, FROM, WHOLE, traces])).toEqual(["web db waypoint", "gate tracing destination"]);
  });
});
