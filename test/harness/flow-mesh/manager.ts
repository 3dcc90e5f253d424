import { createIprouteKernel, Reconciler, toolRunner } from "@isochrone/network-manager/testing";
import { systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";

type Options = ConstructorParameters<typeof Reconciler>[0];

/** @param prefix command prefix for its tools */
export function managerWith(
  mode: Options["mode"],
  prefix: readonly string[],
  fields: Partial<Options> = {},
): Reconciler {
  return new Reconciler({
    mode,
    retryMs: 60_000,
    kernel: createIprouteKernel(toolRunner(prefix)),
    lock: { hold: async () => true, release: async () => undefined },
    clock: systemClock,
    logger: new MemoryLogger(),
    ...fields,
  });
}
