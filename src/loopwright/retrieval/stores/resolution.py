"""Which keys name the same entity: union-find over the aliases that documents declare."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable


class Resolution:
    """Entity keys with their aliases merged."""

    def __init__(self, aliases: Iterable[tuple[str, str]]) -> None:
        """Merge.

        The key of a merged entity is one that no document declares an alias of another, the least of these by code
        point; where the declarations run in a circle, the least of all. An alias of several entities that nothing else
        says are one ("AI" for two things) is ambiguous and merges nothing. The order of the aliases changes nothing.

        Args:
            aliases: Alias and entity key.
        """
        named: defaultdict[str, set[str]] = defaultdict(set)
        for alias, entity in aliases:
            if alias != entity:
                named[alias].add(entity)
        pairs = [(alias, entity) for alias, entities in named.items() for entity in entities]
        self._parent = {key: key for pair in pairs for key in pair}
        # What is certain comes first: it can show that the entities of another alias are one.
        for alias, entities in sorted(named.items(), key=lambda item: (len(item[1]), item[0])):
            roots = {self._root(entity) for entity in entities}
            if len(roots) == 1:
                self._parent[self._root(alias)] = roots.pop()
        groups: defaultdict[str, list[str]] = defaultdict(list)
        for key in self._parent:
            groups[self._root(key)].append(key)
        shorter = {alias for alias, _ in pairs}
        self._canonical: dict[str, str] = {}
        self._members: dict[str, tuple[str, ...]] = {}
        for members in groups.values():
            name = min([key for key in members if key not in shorter] or members)
            self._members[name] = tuple(sorted(members))
            self._canonical.update(dict.fromkeys(members, name))

    def canonical(self, key: str) -> str:
        """The key of the entity that a key names."""
        return self._canonical.get(key, key)

    def members(self, key: str) -> tuple[str, ...]:
        """All keys of the entity that a key names, in order."""
        canonical = self.canonical(key)
        return self._members.get(canonical, (canonical,))

    def _root(self, key: str) -> str:
        while self._parent[key] != key:
            self._parent[key] = self._parent[self._parent[key]]
            key = self._parent[key]
        return key
