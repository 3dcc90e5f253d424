// The recorders of Events in the scheduler-plugin: each part has one of its own, which counts what is not
// written.
import { createEventRecorder } from "@isochrone/kubernetes";
import type { EventDropReason, EventRecorder, EventRecorderOptions } from "@isochrone/kubernetes";

interface CountedEventsOptions extends Pick<EventRecorderOptions, "store" | "clock" | "logger"> {
  /** Which part speaks. @default "scheduler-plugin" */
  readonly component?: string;
  /** Name of this replica; null: it is the only one. */
  readonly replica: string | null;
  readonly metrics: {
    readonly droppedEvents: { inc(labels: { readonly reason: EventDropReason }): void };
  };
}

export function countedEvents(options: CountedEventsOptions): EventRecorder {
  const { store, component = "scheduler-plugin", replica, clock, logger, metrics } = options;
  return createEventRecorder({
    store,
    component,
    ...(replica === null ? {} : { instance: replica }),
    clock,
    logger,
    onDrop: (reason) => metrics.droppedEvents.inc({ reason }),
  });
}
