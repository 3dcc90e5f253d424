import { createEventRecorder } from "@isochrone/kubernetes";
import type { EventDropReason, EventRecorder, EventRecorderOptions } from "@isochrone/kubernetes";

interface CountedEventsOptions extends Pick<EventRecorderOptions, "store" | "clock" | "logger"> {
  readonly component?: string;
  /** Name of this replica; null for a single replica. */
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
