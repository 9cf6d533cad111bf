"""What replicas share, on Redis or Valkey."""

from memory_service.adapters.redis.settings import RedisSettings
from memory_service.adapters.redis.shared_cache import RedisSharedCache

__all__ = ["RedisSettings", "RedisSharedCache"]
