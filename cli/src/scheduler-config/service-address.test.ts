import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { systemClock } from "@isochrone/runtime";
import { expect, test } from "vitest";
import { lookUp } from "./service-address.ts";

type Port = Readonly<Record<string, unknown>>;

async function address(service: string, clusterIP: unknown, ports: readonly Port[] = [{ port: 443 }]) {
  const store = createMemoryStore({ clock: systemClock });
  await store.create({
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace: "isochrone", name: "extender" },
    spec: { clusterIP, ports: [...ports] },
  });
  return lookUp(store, service);
}

test("a service is reached by its ClusterIP, under the name in its certificate", async () => {
  expect(await address("isochrone/extender", "10.96.0.12")).toEqual({
    url: "https://10.96.0.12:443",
    serverName: "extender.isochrone.svc",
  });
  expect((await address("isochrone/extender", "fd00::12")).url).toBe("https://[fd00::12]:443");
});

test("of several ports the one called https is taken, or the one that is said", async () => {
  const ports = [
    { name: "metrics", port: 9090 },
    { name: "https", port: 8443 },
  ];
  for (const [service, port] of [
    ["isochrone/extender", 8443],
    ["isochrone/extender:metrics", 9090],
    ["isochrone/extender:9090", 9090],
  ] as const)
    expect((await address(service, "10.0.0.1", ports)).url).toBe(`https://10.0.0.1:${port}`);
});

test("of the chart's ports the extender's is taken, as the webhook's is there too", async () => {
  const ports = [
    { name: "webhook", port: 443 },
    { name: "extender", port: 8081 },
  ];
  expect((await address("isochrone/extender", "10.0.0.1", ports)).url).toBe("https://10.0.0.1:8081");
});

test.each<[string, unknown, readonly Port[] | undefined, RegExp]>([
  [
    "extender",
    "10.0.0.1",
    undefined,
    /--service must be namespace\/name or namespace\/name:port, got "extender"/,
  ],
  ["other/extender", "10.0.0.1", undefined, /--service must be there.*got "other\/extender"/],
  [
    "isochrone/extender",
    "None",
    undefined,
    /--service must have a ClusterIP.*isochrone\/extender has "None"/,
  ],
  ["isochrone/extender", undefined, undefined, /must have a ClusterIP.*has nothing/],
  [
    "isochrone/extender:x",
    "10.0.0.1",
    [{ name: "a", port: 1 }],
    /must name one of its ports a \(1\), got "isochrone\/extender:x"/,
  ],
])("%s with ClusterIP %j is refused", async (service, clusterIP, ports, message) => {
  await expect(address(service, clusterIP, ports)).rejects.toThrow(message);
});
