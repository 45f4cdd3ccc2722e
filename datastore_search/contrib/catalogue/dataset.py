"""What belongs to datasets: their organizations and groups, and what a user sees of a dataset."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from django.core.exceptions import ValidationError
from django.utils.text import slugify
from django.utils.translation import gettext_lazy as _

from ...models import Resource

if TYPE_CHECKING:
    from .models import Dataset

_NAMESPACE: Final = uuid.UUID("3a4d6d0e-9c0c-5d0e-8f1e-6a7f0a1f2c11")


@dataclass(frozen=True, slots=True)
class Group:
    """A group of datasets; ``name`` is for URLs, and ``id`` is derived from it if not given."""

    name: str
    title: str = ""
    description: str = ""
    image_url: str = ""
    id: str = ""

    #: CKAN's type of group, and the column of datasets.
    kind: ClassVar[str] = "group"
    column: ClassVar[str] = "groups"

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """
        Read what a dataset stores, or what a portal gives.

        Raises: ``ValidationError``.
        """
        is_valid = isinstance(value, Mapping) and bool(value.get("name"))
        if not is_valid or not all(
            name in cls.__dataclass_fields__ and isinstance(text, str)
            for name, text in value.items()
        ):
            text = _("Must have a “name”, and may have: title, description, image_url, id.")
            raise ValidationError({cls.column: text})
        return cls(**value)

    def to_json(self) -> dict[str, str]:
        """Write the members that have a value, and the id."""
        names = ("name", "title", "description", "image_url")
        given = {name: getattr(self, name) for name in names if getattr(self, name)}
        return {**given, "id": self.id or build_id(f"{self.kind}/{self.name}")}

    @property
    def shown_title(self) -> str:
        """The title, or the name where there is none."""
        return self.title or self.name


@dataclass(frozen=True, slots=True)
class Organization(Group):
    """An organization that publishes datasets."""

    kind: ClassVar[str] = "organization"
    column: ClassVar[str] = "organization"


@dataclass(frozen=True, slots=True)
class ListedDataset:
    """A dataset as a user sees it: with the resources that the user may read, in order."""

    dataset: Dataset
    resources: Sequence[Resource]

    @property
    def is_private(self) -> bool:
        """Return whether only some users see it."""
        return not self.dataset.is_public and all(each.private for each in self.resources)

    @property
    def created_at(self) -> datetime | None:
        """The time of the dataset, or of the first visible resource."""
        given = self.dataset.metadata_created
        return given or min((each.created_at for each in self.resources), default=None)

    @property
    def modified_at(self) -> datetime | None:
        """The time of the dataset, or of the last change of a visible resource."""
        given = self.dataset.metadata_modified
        return given or max((each.modified_at for each in self.resources), default=None)


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a resource: the id of its dataset, and its number within that."""

    dataset_id: str
    position: int


@lru_cache(maxsize=2_000)
def build_organization(publisher: str) -> Organization:
    """Build the organization of a publisher; all spellings of a name have the same name and id."""
    name = slugify(publisher)[:100] or uuid.uuid5(_NAMESPACE, publisher).hex
    return Organization(name, publisher, id=build_id(f"{Organization.kind}/{name}"))


def build_id(name: str) -> str:
    """Build an id from a name."""
    return str(uuid.uuid5(_NAMESPACE, name))
