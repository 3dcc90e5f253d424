import { describe, expect, it } from "vitest";
import { shorten, shortNames } from "./names.ts";

describe("shorten", () => {
  it("keeps both ends of what is too long, and leaves the rest alone", () => {
    expect(shorten("web", 8)).toBe("web");
    expect(shorten("12345678", 8)).toBe("12345678");
    expect(shorten("gke-prod-default-pool-3f2a1b-x7zk", 16)).toBe("gke-prod…1b-x7zk");
    expect(shorten("gke-prod-default-pool-3f2a1b-x7zk", 16)).toHaveLength(16);
  });
});

describe("shortNames", () => {
  const short = (...names: string[]): string[] => [...shortNames(names, 16).values()];

  it("leaves out the domain that nodes share", () => {
    expect(
      short("ip-10-0-1-2.eu-central-1.compute.internal", "ip-10-0-1-3.eu-central-1.compute.internal"),
    ).toEqual(["ip-10-0-1-2", "ip-10-0-1-3"]);
  });

  it("keeps domains that differ, and the numbers of addresses", () => {
    expect(short("a.one", "a.two")).toEqual(["a.one", "a.two"]);
    expect(short("10.0.0.1", "10.1.0.1")).toEqual(["10.0.0.1", "10.1.0.1"]);
  });

  it("never gives two nodes one name", () => {
    const names = ["pool-eu-west-a-node-0001", "pool-eu-west-b-node-0001", "pool-eu-west-b-node-0002"];
    expect(short(...names)).toEqual([names[0], names[1], "pool-eu-…de-0002"]);
    expect(short("a", "a.example")).toEqual(["a", "a.example"]);
  });
});
