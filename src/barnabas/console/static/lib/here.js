// Where a page is: the cluster, the person and what they may do.
import { createContext, useContext } from "./dom.js";
import { address } from "./api.js";
import { to } from "./router.js";

export const Here = createContext(null);

// {cluster, user, mayChange, maySeeRecords, place, api(path, query), link(page, rest, query)}
export function useHere() {
  const here = useContext(Here);
  return { ...here, api: (path, query) => address(here.cluster, path, query), link: (page, rest, query) => to(here.cluster, page, rest, query) };
}
