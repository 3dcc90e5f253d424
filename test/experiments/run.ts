// Like `isochrone experiment NAME`, with the real kube-scheduler if it exists or Go can build it.
import { CommandError, createProgram } from "@isochrone/cli/testing";
import { reasonOf } from "@isochrone/primitives";
import { RealKubeScheduler } from "./kube-scheduler.ts";

const WRONG_USAGE = 2;

const running: RealKubeScheduler[] = [];

async function startScheduler(): Promise<RealKubeScheduler | null> {
  const support = RealKubeScheduler.support();
  if (!support.supported) {
    console.error(`without a real kube-scheduler: ${support.reason}`);
    return null;
  }
  const started = await RealKubeScheduler.start();
  running.push(started);
  return started;
}

const words = process.argv.slice(2);
process.argv = [...process.argv.slice(0, 2), "experiment", ...words];
try {
  await createProgram((text) => console.log(text), "isochrone", startScheduler).parseAsync(process.argv);
} catch (error) {
  console.error(reasonOf(error));
  process.exitCode = error instanceof CommandError ? error.exitCode : WRONG_USAGE;
} finally {
  await Promise.all(running.map((scheduler) => scheduler.close()));
}
