import { readdirSync, readFileSync } from "node:fs";
import { NamespaceLab } from "../namespace-lab.ts";

const lab = await NamespaceLab.create({ nodes: ["a", "b"] });
const server = lab.spawn("b", "sleep", ["600"], { stdio: "ignore" });
const children = readdirSync("/proc").filter((pid) => {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ")[1] === String(process.pid);
  } catch {
    return false;
  }
});
const reaperPid = children.find((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("reaper.sh"));
const told = { serverPid: server.pid, wirePid: lab.wirePid, reaperPid: Number(reaperPid) };
process.stdout.write(`${JSON.stringify(told)}\n`);
setInterval(() => undefined, 1000);
