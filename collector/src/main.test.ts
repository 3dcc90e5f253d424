import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const main = join(import.meta.dirname, "main.ts");

describe("the collector's process", () => {
  it("scrapes a static target, posts it to the aggregator, and ends with 0 on SIGTERM", async () => {
    const posts: string[] = [];
    const server = createServer((request, response) => {
      if (request.url === "/v1/metrics") posts.push(String(request.headers["isochrone-source"]));
      response.setHeader(
        "content-type",
        request.url === "/metrics" ? "text/plain" : "application/x-protobuf",
      );
      request.resume();
      response.end(request.url === "/metrics" ? 'istio_requests_total{reporter="source"} 1\n' : "");
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const env = {
      ...process.env,
      ISOCHRONE_COLLECTOR_NODE: "n1",
      ISOCHRONE_COLLECTOR_AGGREGATOR_URL: url,
      ISOCHRONE_COLLECTOR_STATIC_TARGETS: `istio=${url}/metrics`,
      ISOCHRONE_COLLECTOR_INTERVAL_MS: "200ms",
      ISOCHRONE_COLLECTOR_HOST: "127.0.0.1",
      ISOCHRONE_COLLECTOR_PORT: "0",
    };
    const child = spawn(process.execPath, [main], { env, stdio: ["ignore", "pipe", "pipe"] });
    try {
      for (const deadline = Date.now() + 15_000; posts.length < 2 && Date.now() < deadline;)
        await new Promise((resolve) => setTimeout(resolve, 50));
      child.kill("SIGTERM");
      const [code] = (await once(child, "exit")) as [number];
      expect(posts[0]).toBe("collector/n1");
      expect(code).toBe(0);
    } finally {
      child.kill("SIGKILL");
      server.closeAllConnections();
      server.close();
    }
  });

  it("asks a Prometheus instead when told to", async () => {
    const asked: string[] = [];
    const server = createServer((request, response) => {
      asked.push(String(request.url));
      request.resume();
      response.writeHead(503).end();
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const env = {
      ...process.env,
      ISOCHRONE_COLLECTOR_MODE: "prometheus",
      ISOCHRONE_COLLECTOR_PROMETHEUS_URL: url,
      ISOCHRONE_COLLECTOR_INTERVAL_MS: "200ms",
      ISOCHRONE_COLLECTOR_HOST: "127.0.0.1",
      ISOCHRONE_COLLECTOR_PORT: "0",
    };
    const child = spawn(process.execPath, [main], { env, stdio: ["ignore", "pipe", "pipe"] });
    const exit = once(child, "exit");
    try {
      for (
        const deadline = Date.now() + 15_000;
        asked.length === 0 && child.exitCode === null && Date.now() < deadline;
      )
        await new Promise((resolve) => setTimeout(resolve, 50));
      child.kill("SIGTERM");
      const [code] = (await exit) as [number];
      expect(asked[0]).toContain("/api/v1/query");
      expect(code).toBe(0);
    } finally {
      child.kill("SIGKILL");
      server.closeAllConnections();
      server.close();
    }
  });

  it("ends with 1 and lists all mistakes in its settings", async () => {
    const env = {
      ...process.env,
      ISOCHRONE_COLLECTOR_INTERVAL_MS: "soon",
      ISOCHRONE_COLLECTOR_KUBELET_PORT: "0",
      ISOCHRONE_COLLECTOR_COLOUR: "red",
    };
    const child = spawn(process.execPath, [main], { env, stdio: ["ignore", "ignore", "pipe"] });
    let stderr = "";
    child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
    const [code] = (await once(child, "exit")) as [number];
    expect(code).toBe(1);
    for (const word of ["intervalMs", "soon", "kubeletPort", "COLOUR"]) expect(stderr).toContain(word);
  });
});
