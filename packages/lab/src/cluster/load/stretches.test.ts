import { describe, expect, it } from "vitest";
import type { RawStretch } from "./protocol.ts";
import { Stretches } from "./stretches.ts";

describe("stretches of load", () => {
  it("hold each request of their time, in the order of sending, once all are settled", () => {
    const stretches = new Stretches();
    const ended: RawStretch[] = [];
    stretches.planned(-5);
    stretches.begin(0, 100, (stretch) => ended.push(stretch));
    const [a, b] = [stretches.planned(10), stretches.planned(20)];
    stretches.settled(b, null, 40);
    stretches.end(150);
    expect(ended).toEqual([]);
    stretches.settled(a, 170, 180);
    expect(ended).toEqual([{ responseMs: [170, null] }]);
  });

  it("begin where the last one ended: what is sent while it settles is the next one's", () => {
    const stretches = new Stretches();
    const ended: RawStretch[] = [];
    stretches.begin(0, 100, (stretch) => ended.push(stretch));
    const slow = stretches.planned(90);
    const early = stretches.planned(110);
    const later = stretches.planned(205);
    stretches.settled(early, 7, 117);
    stretches.settled(slow, 120, 210);
    stretches.settled(later, 9, 214);
    expect(ended).toEqual([{ responseMs: [120] }]);
    stretches.begin(220, 100, (stretch) => ended.push(stretch));
    expect(ended[1]).toEqual({ responseMs: [7] });
    stretches.begin(301, 100, (stretch) => ended.push(stretch));
    expect(ended[2]).toEqual({ responseMs: [9] });
  });

  it("end without requests, too", () => {
    const stretches = new Stretches();
    const ended: RawStretch[] = [];
    stretches.begin(0, 10, (stretch) => ended.push(stretch));
    stretches.end(11);
    expect(ended).toEqual([{ responseMs: [] }]);
  });
});
