import { describe, expect, test } from "vitest";
import { rawAddressOf } from "./address-ranges.ts";
import { OutsideError, readOutside } from "./outside.ts";

const FILE = {
  cluster: ["10.244.0.0/16", "10.96.0.0/12", "192.0.2.0/24", "fd00:10::/48"],
  names: [
    { name: "aws", cidrs: ["52.0.0.0/8", "2600:1f00::/24"] },
    { name: "s3-eu", cidrs: ["52.218.0.0/17", "2600:1f18:4000::/36"] },
    { name: "one", cidrs: ["52.218.1.1/32", "2600:1f18:4000::1/128"] },
    { name: "office", cidrs: ["192.168.7.0/24", "fd00:20::/48"] },
  ],
};

describe("an address is called by", () => {
  const outside = readOutside(FILE);

  test.each([
    ["10.244.3.4", null],
    ["10.111.255.255", null],
    ["192.0.2.9", null],
    ["fd00:10::9", null],
    ["52.1.2.3", "aws"],
    ["52.218.127.255", "s3-eu"],
    ["52.218.128.0", "aws"],
    ["52.218.1.1", "one"],
    ["52.218.1.2", "s3-eu"],
    ["::ffff:52.218.1.2", "s3-eu"],
    ["2600:1f01::1", "aws"],
    ["2600:1f18:4fff::1", "s3-eu"],
    ["2600:1f18:5000::1", "aws"],
    ["2600:1f18:4000::1", "one"],
    ["192.168.7.255", "office"],
    ["fd00:20::1", "office"],
    ["192.168.8.1", "private"],
    ["10.112.0.1", "private"],
    ["100.64.0.1", "private"],
    ["169.254.169.254", "private"],
    ["fd00:30::1", "private"],
    ["fe80::1", "private"],
    ["8.8.8.8", "internet"],
    ["172.32.0.1", "internet"],
    ["2a00:1450::1", "internet"],
  ])("%s: %s", (address, name) => expect(outside.nameOf(rawAddressOf(address)!)).toBe(name));
});

describe("a file is refused, by name, for", () => {
  test.each<[string, unknown, string]>([
    ["no object", ["10.0.0.0/8"], "outside must be an object"],
    ["no cluster", { names: [] }, "cluster must list the ranges of all pods, Services and nodes, got none"],
    ["an unknown field", { ...FILE, cidrs: [] }, "cidrs is no field of outside"],
    ["a bad range", name("52.218.0.0/33"), "names[0].cidrs[0] must be a range as 10.0.0.0/16 or fd00::/48"],
    ["no range", name("52.218.0.1"), 'got "52.218.0.1"'],
    ["bits beyond its length", name("52.218.0.1/17"), 'got "52.218.0.1/17"'],
    ["a zone", name("fe80::1%eth0/128"), 'got "fe80::1%eth0/128"'],
    ["no ranges", { cluster: ["10.0.0.0/8"], names: [{ name: "a" }] }, "must list the ranges of a, got none"],
    ["a bad name", name("52.0.0.0/8", "S3 EU"), 'names[0].name must be 1 to 63 of a-z, 0-9, "-" and "."'],
    ["a name in use", name("52.0.0.0/8", "internet"), "must be another one, got internet, which is in use"],
    [
      "the same name twice",
      { ...FILE, names: [...FILE.names, { name: "aws", cidrs: ["3.0.0.0/8"] }] },
      "names[4].name must be another one, got aws",
    ],
    [
      "the same range twice, however it is written",
      { ...FILE, names: [...FILE.names, { name: "b", cidrs: ["2600:1f00:0::/24"] }] },
      "b must not have 2600:1f00:0::/24, which aws has as 2600:1f00::/24",
    ],
    [
      "a range of pods",
      name("10.244.7.0/24", "far"),
      "far must be outside of the cluster, but 10.244.7.0/24 overlaps its 10.244.0.0/16",
    ],
    [
      "a range around that of Services",
      name("10.64.0.0/10", "far"),
      "far must be outside of the cluster, but 10.64.0.0/10 overlaps its 10.96.0.0/12",
    ],
    ["an IPv6 range of nodes", name("fd00::/16", "far"), "overlaps its fd00:10::/48"],
  ])("%s", (_, file, mistake) => {
    expect(() => readOutside(file)).toThrow(OutsideError);
    expect(() => readOutside(file)).toThrow(mistake);
  });

  test("all of its mistakes at once", () => {
    const names = [
      { name: "X", cidrs: [] },
      { name: "a", cidrs: ["1.0.0.0/40"] },
    ];
    expect(catching(() => readOutside({ cluster: [], names }))).toHaveLength(4);
  });
});

function name(cidr: string, called = "far"): object {
  return { cluster: FILE.cluster, names: [{ name: called, cidrs: [cidr] }] };
}

function catching(run: () => void): readonly string[] {
  try {
    run();
  } catch (error) {
    if (error instanceof OutsideError) return error.mistakes;
  }
  return [];
}
