import type { VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { age, clockTime } from "../model/format.ts";
import { isAlwaysNow } from "../model/route.ts";
import { history, look, moment, nowMs, route } from "../state/store.ts";
import { indexOfMoment } from "./moments.ts";

export function TimeBar(): VNode | null {
  const { place, view } = route.value;
  if (!isAlwaysNow(place)) return <Slider />;
  if (view.at === null) return null;
  return (
    <section class="time" aria-label="Moment that is shown">
      <p>This page always shows now; the other pages show {clockTime(view.at, nowMs.value)}.</p>
      <button type="button" onClick={() => look({ at: null })}>
        Back to now
      </button>
    </section>
  );
}

function Slider(): VNode | null {
  const times = history.value?.times ?? [];
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const at = moment.value;
  const slider = useRef<HTMLInputElement>(null);
  const index = at === "" ? times.length : indexOfMoment(times, at);
  // The browser clamps a value above the previous maximum.
  useLayoutEffect(() => {
    if (slider.current !== null) slider.current.value = String(index);
  }, [index, times.length]);
  if (times.length < 2 && at === "") return null;
  const shown =
    at === "" ? "now" : `${clockTime(at, nowMs.value)}, ${age((nowMs.value - Date.parse(at)) / 1000)} ago`;
  const choose = (wanted: number): void => {
    clearTimeout(timer.current);
    // Shows the target while dragging; fetches after a pause.
    timer.current = setTimeout(() => look({ at: wanted >= times.length ? null : times[wanted]! }), 120);
  };
  return (
    <section class={`time ${at === "" ? "" : "is-past"}`} aria-label="Moment that is shown">
      <label for="moment">Time</label>
      <input
        id="moment"
        ref={slider}
        type="range"
        min={0}
        max={times.length}
        value={index}
        aria-valuetext={shown}
        onInput={({ currentTarget }) => choose(Number(currentTarget.value))}
      />
      <output for="moment">{shown}</output>
      {at === "" ? null : (
        <button type="button" class="primary" onClick={() => look({ at: null })}>
          Back to now
        </button>
      )}
    </section>
  );
}
