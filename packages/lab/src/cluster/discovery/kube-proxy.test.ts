import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { describe, expect, test } from "vitest";
import { byHints, endpointsFor } from "./kube-proxy.ts";

const endpoint = (name: string, forZones: readonly string[], forNodes: readonly string[] = []) => ({
  name,
  forZones,
  forNodes,
});
const WEST = { node: "w1", zone: "west" };

describe("hints", () => {
  test.each([
    [
      "of this zone, where every endpoint has one",
      [endpoint("a", ["west"]), endpoint("b", ["east"]), endpoint("c", ["east", "west"])],
      ["a", "c"],
    ],
    ["are ignored where one endpoint has none", [endpoint("a", ["west"]), endpoint("b", [])], ["a", "b"]],
    [
      "are ignored where none is for this zone",
      [endpoint("a", ["east"]), endpoint("b", ["north"])],
      ["a", "b"],
    ],
    [
      "of nodes come before those of zones",
      [endpoint("a", ["west"], ["w1"]), endpoint("b", ["west"], ["w2"])],
      ["a"],
    ],
    [
      "of nodes that aren't this one leave it to those of zones",
      [endpoint("a", ["west"], ["w2"]), endpoint("b", ["east"], ["w3"])],
      ["a"],
    ],
    ["of none: nobody is asked", [], []],
  ])("%s", (_, endpoints, chosen) => {
    expect(byHints(endpoints, WEST).map(({ name }) => name)).toEqual(chosen);
  });
});

function slice(endpoints: readonly object[]): KubernetesObject {
  return {
    ...KINDS.endpointSlice,
    metadata: { namespace: "shop", name: "db-1", labels: { "kubernetes.io/service-name": "db" } },
    endpoints,
  };
}

const of = (pod: string, zone: string, fields: object = {}) => ({
  addresses: [`10.0.0.${pod.length}`],
  targetRef: { name: pod },
  hints: { forZones: [{ name: zone }] },
  ...fields,
});

test("a Service's endpoints are those that its slices name and hints leave", () => {
  const identity = (pod: string) => ({
    pod,
    namespace: "shop",
    workload: "db",
    app: "db",
    version: "v1",
    address: "",
  });
  const services = [
    {
      service: "db",
      namespace: "shop",
      endpoints: ["a", "bb", "ccc", "dddd"].map((pod) => ({ node: "n", port: 1, identity: identity(pod) })),
    },
  ];
  const slices = [
    slice([
      of("a", "west"),
      of("bb", "east"),
      of("ccc", "west", { conditions: { ready: false }, hints: undefined }),
    ]),
  ];
  const chosen = endpointsFor(services, slices, WEST)[0]!.endpoints;
  expect(chosen.map((each) => each.identity.pod)).toEqual(["a"]);
  expect(endpointsFor(services, [], WEST)[0]!.endpoints).toEqual([]);
});
