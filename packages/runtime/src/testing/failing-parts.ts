import { composeServices } from "../lifecycle/compose.ts";
import { ServiceError } from "../errors.ts";
import type { ComposedService, Part } from "../service.ts";
import { ManualClock } from "./manual-clock.ts";

const PART_FAULTS = ["stop rejects", "stop hangs", "start rejects"] as const;

interface PartFailure {
  readonly fault: (typeof PART_FAULTS)[number];
  readonly part: string;
  readonly stopped: readonly string[];
  readonly wanted: readonly string[];
  readonly error: unknown;
}

/**
 * For each part and fault: builds the service, makes the part fail, and reports the others. Composed as in a
 * process. The failing part is stopped too, so that nothing is left.
 */
export async function failEachPart(
  build: () => ComposedService | Promise<ComposedService>,
): Promise<PartFailure[]> {
  const failures: PartFailure[] = [];
  const { length } = (await build()).parts;
  for (const fault of PART_FAULTS)
    for (let index = 0; index < length; index++) failures.push(await failPart(await build(), index, fault));
  return failures;
}

async function failPart(
  service: ComposedService,
  index: number,
  fault: PartFailure["fault"],
): Promise<PartFailure> {
  const stopped: string[] = [];
  const hanging = Promise.withResolvers<void>();
  const stops: Promise<unknown>[] = [];
  const parts = service.parts.map(({ name, service: real }, at): Part => {
    const isFailing = at === index;
    return {
      name,
      service: {
        start: async () => {
          await real?.start?.();
          if (isFailing && fault === "start rejects") throw new Error("no start");
        },
        stop: async () => {
          stopped.push(name);
          const stop = Promise.resolve(real?.stop?.());
          stops.push(stop);
          // The clock stands still, so only this part reaches its deadline.
          if (isFailing && fault === "stop hangs") return await hanging.promise;
          await stop;
          if (isFailing && fault === "stop rejects") throw new Error("no stop");
        },
      },
    };
  });
  const clock = new ManualClock();
  const deadlines = { clock, startMs: 60_000, stopMs: 1_000 };
  const composed = composeServices([{ name: "service", service: { parts } }], { deadlines });
  const outcome = run(composed).then(
    () => null,
    (error: unknown) => error,
  );
  if (fault === "stop hangs") {
    while (!stopped.includes(parts[index]!.name)) await new Promise((resolve) => setTimeout(resolve, 1));
    await clock.advance(deadlines.stopMs);
  }
  const error = await outcome;
  await Promise.all(stops);
  const wanted = (fault === "start rejects" ? parts.slice(0, index + 1) : parts)
    .map(({ name }) => name)
    .toReversed();
  return { fault, part: parts[index]!.name, stopped, wanted, error };
}

async function run(service: ComposedService): Promise<void> {
  await service.start();
  await service.stop();
}

export function mistakesOf({ fault, part, stopped, wanted, error }: PartFailure): string[] {
  const what = fault === "start rejects" ? "start" : "stop";
  const message = `service/${part} must ${what} and did not`;
  return [
    ...(stopped.join() === wanted.join()
      ? []
      : [`${part}: ${fault}: stopped ${stopped.join()}, not ${wanted.join()}`]),
    ...(error instanceof ServiceError && error.message.includes(message)
      ? []
      : [`${part}: ${fault}: the error must say "${message}", got ${String(error)}`]),
  ];
}
