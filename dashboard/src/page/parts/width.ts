import { useEffect, useRef, useState } from "preact/hooks";
import type { RefObject } from "preact";

/** Observes an element's width, so that drawings use real pixels: scaled text is unreadable on phones. */
export function useWidth<T extends Element>(
  usual: number,
): { readonly place: RefObject<T | null>; readonly width: number } {
  const place = useRef<T>(null);
  const [width, setWidth] = useState(usual);
  useEffect(() => {
    const holder = place.current;
    if (holder === null) return undefined;
    const measure = (): void => setWidth(Math.max(240, Math.floor(holder.clientWidth)));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(holder);
    return () => observer.disconnect();
  }, []);
  return { place, width };
}
