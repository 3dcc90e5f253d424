// Services of the Traffic page: one with a hot zone, one with advice only.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { ServiceTraffic, ZoneTraffic } from "@isochrone/topology";

const zone = (
  name: string,
  [requestsPerSecond, inTimeRatio, p50Ms]: readonly [number, number | null, number],
  [endpoints, loadRatio, advisedLoadRatio]: readonly [number, number, number],
  [now, advised]: readonly [Record<string, number>, Record<string, number>],
): ZoneTraffic => ({
  zone: name,
  requestsPerSecond,
  inTimeRatio,
  p50Ms,
  endpoints,
  loadRatio,
  advisedLoadRatio,
  now,
  advised,
});

export const TRAFFIC: readonly ServiceTraffic[] = [
  {
    namespace: "shop",
    name: "cart",
    lever: "hints",
    state: "moving",
    message: null,
    deadlineMs: 50,
    capacityPerSecond: 12.5,
    abovePerSecond: 0,
    zones: [
      zone("east", [50, 0.96, 9], [10, 0.56, 0.9], [{ east: 1 }, { east: 1 }]),
      zone("north", [50, 0.95, 10], [10, 0.4, 0.4], [{ north: 1 }, { north: 1 }]),
      {
        ...zone(
          "west",
          [200, 0.55, 38],
          [10, 1.44, 1.1],
          [
            { west: 0.9, east: 0.1 },
            { west: 0.688, east: 0.312 },
          ],
        ),
        proposedEndpoints: 14,
      },
    ],
  },
  {
    namespace: "shop",
    name: "db",
    lever: "advise",
    state: "steady",
    message: null,
    deadlineMs: null,
    capacityPerSecond: 40,
    abovePerSecond: 0,
    zones: ["east", "north", "west"].map((name) =>
      zone(name, [30, null, 4], [1, 0.75, 0.75], [{ east: 0.333, north: 0.333, west: 0.334 }, { [name]: 1 }]),
    ),
  },
];

interface DispatchAnswer {
  readonly status: number;
  readonly body: object;
}

export async function serveTraffic(
  answer: () => DispatchAnswer = () => ({ status: 200, body: { services: TRAFFIC } }),
): Promise<{ readonly url: string; close(): void }> {
  const server = createServer((request, response) => {
    const { status, body } = request.url === "/api/v1/dispatch" ? answer() : { status: 404, body: {} };
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
