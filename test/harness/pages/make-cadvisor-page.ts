// Writes test/data/pages/cadvisor.txt from two pods made of cgroups. Needs Go, root and cgroups v1. Run: node
// tools/node24.mjs test/harness/pages/make-cadvisor-page.ts
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { cachePath, makeOnce } from "../common/cache.ts";

const CADVISOR_VERSION = "0.53.0";
const PORT = 18_091;
const READY_MS = 12_000;
const PODS = "/kubepods/burstable";
const CONTROLLERS = ["cpu", "cpuacct", "memory", "pids", "blkio"];

/** Removes identities of this machine. */
const IDENTITIES = /(?<=(?:boot_id|machine_id|system_uuid|kernelVersion|osVersion)=")[^"]*/g;

interface Container {
  readonly cgroup: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** A pod's cgroup, its pause container and its container, in the layout of containerd and the kubelet. */
function containersOf(pod: string, uid: string): Container[] {
  const cgroup = `${PODS}/pod${uid}`;
  const [pause, app] = [`${uid.replaceAll("-", "")}a`, `${uid.replaceAll("-", "")}b`];
  return [
    { cgroup, labels: { namespace: "shop", pod } },
    {
      cgroup: `${cgroup}/${pause}`,
      labels: { namespace: "shop", pod, name: pause, image: "registry.k8s.io/pause:3.10" },
    },
    {
      cgroup: `${cgroup}/${app}`,
      labels: { namespace: "shop", pod, name: app, image: "docker.io/library/app:1.0", container: "app" },
    },
  ];
}

const containers = [
  ...containersOf("web-7d4b9c6f5-x2x8p", "0b2f7a54-6d5e-4b59-9a5c-3f2d1c0e8a11"),
  ...containersOf("db-0", "5c1e9d32-8f7a-4c26-8d3b-7e6f5a4b3c22"),
];
const folders = CONTROLLERS.flatMap((controller) =>
  ["/kubepods", PODS, ...containers.map(({ cgroup }) => cgroup)].map((cgroup) =>
    join("/sys/fs/cgroup", controller, cgroup),
  ),
);
const children: ChildProcess[] = [];
const scratch = mkdtempSync(join(tmpdir(), "isochrone-cadvisor-"));

try {
  for (const folder of folders) mkdirSync(folder, { recursive: true });
  for (const { cgroup, labels } of containers.filter((container) => "name" in container.labels))
    start(cgroup, labels["container"]);
  writeFileSync(
    join(scratch, "labels.json"),
    JSON.stringify(Object.fromEntries(containers.map(({ cgroup, labels }) => [cgroup, labels]))),
  );
  children.push(
    spawn(await binary(), [`127.0.0.1:${PORT}`, join(scratch, "labels.json")], { stdio: "ignore" }),
  );
  await sleep(READY_MS);
  const page = await (await fetch(`http://127.0.0.1:${PORT}/metrics`)).text();
  const file = join(import.meta.dirname, "../../data/pages/cadvisor.txt");
  writeFileSync(file, page.replaceAll(IDENTITIES, "x"));
  console.log(`${page.length} bytes, ${[...page.matchAll(/^# TYPE/gm)].length} families in ${file}`);
} finally {
  for (const child of children) child.kill("SIGKILL");
  await sleep(500);
  for (const folder of folders.toReversed()) if (existsSync(folder)) rmdirSync(folder);
  rmSync(scratch, { recursive: true });
}

/** Starts a process in a cgroup: the application computes a little, the pause container sleeps. */
function start(cgroup: string, container: string | undefined): void {
  const work =
    container === undefined
      ? "exec sleep 60"
      : "while :; do i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.1; done";
  const joins = CONTROLLERS.map(
    (controller) => `echo $$ > ${join("/sys/fs/cgroup", controller, cgroup, "cgroup.procs")}`,
  );
  children.push(spawn("sh", ["-c", `${joins.join(" && ")} && exec sh -c '${work}'`], { stdio: "ignore" }));
}

async function binary(): Promise<string> {
  const file = cachePath(`cadvisor-page-${CADVISOR_VERSION}-${process.platform}-${process.arch}`);
  await makeOnce(file, async (target) => {
    execFileSync("go", ["build", "-trimpath", "-o", target, "."], {
      cwd: join(import.meta.dirname, "cadvisor"),
      env: { ...process.env, CGO_ENABLED: "0", GOFLAGS: "-buildvcs=false" },
      stdio: "inherit",
    });
  });
  return file;
}
